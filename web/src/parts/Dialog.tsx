import { Modal, type ModalProps } from "@mantine/core";
import { useEffect, useState } from "react";

/** A dialog that is there while it is open. It goes with its form, so it gives the focus back itself. */
export function Dialog(props: Omit<ModalProps, "opened">) {
  const [before] = useState(() => document.activeElement);
  useEffect(() => () => { if (before instanceof HTMLElement) before.focus({ preventScroll: true }); }, [before]);
  return <Modal opened {...props} />;
}
