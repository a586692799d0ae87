import { Modal, type ModalProps } from "@mantine/core";
import { useEffect, useState } from "react";
import { useEdits } from "../shell/edits";
import { LeaveDialog } from "./LeaveDialog";

/**
 * A dialog that is there while it is open. It goes with its form, so it gives the focus back itself.
 * Once something was typed, Escape, a click beside it and going back ask first; its own buttons do not.
 */
export function Dialog({ onClose, children, ...props }: Omit<ModalProps, "opened">) {
  const [before] = useState(() => document.activeElement);
  const [isEdited, setEdited] = useState(false);
  const [isClosing, setClosing] = useState(false);
  const leaving = useEdits(isEdited);
  useEffect(
    () => () => {
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    },
    [before],
  );
  const asked = isClosing ? { isAsking: true, stay: () => setClosing(false), leave: onClose } : leaving;
  // In a turn of its own: the key that asks must not also answer.
  const close = () => (isEdited ? setTimeout(() => setClosing(true)) : onClose());
  return (
    <>
      <Modal
        opened
        onClose={() => void close()}
        {...props}
        closeOnEscape={!asked.isAsking}
        closeOnClickOutside={!asked.isAsking}
        trapFocus={!asked.isAsking}
      >
        <div onInput={() => setEdited(true)}>{children}</div>
      </Modal>
      <LeaveDialog leaving={asked} />
    </>
  );
}
