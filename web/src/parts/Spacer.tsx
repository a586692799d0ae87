/** The room of rows that are not drawn. */
export function Spacer({ px }: { px: number }) {
  return px > 0 ? (
    <tr className="spacer" aria-hidden style={{ height: px }}>
      <td colSpan={99} />
    </tr>
  ) : null;
}
