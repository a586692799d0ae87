/** A secret that is shown now and never again. */
import { Alert, Button, Code, CopyButton, Group, Text } from "@mantine/core";

export function ShownOnce({ what, secret, children }: { what: string; secret: string; children?: React.ReactNode }) {
  return (
    <Alert color="orange" title={`${what}: copy it now, it is not shown again`}>
      <Group gap="xs" wrap="nowrap">
        <Code block className="breaks" style={{ whiteSpace: "pre-wrap", flex: 1 }}>{secret}</Code>
        <CopyButton value={secret}>{({ copied, copy }) => <Button size="xs" onClick={copy}>{copied ? "Copied" : "Copy"}</Button>}</CopyButton>
      </Group>
      {children && <Text size="sm" mt="xs" component="div">{children}</Text>}
    </Alert>
  );
}
