/** The session ended while a form has unsaved changes: sign in over the page, and what was typed stays. */
import { Button, Modal, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { readAgain } from "../api/reach";
import { sessionAnywhere, useSession } from "../api/session";
import { SignInForm } from "../parts/SignInForm";

let open: (() => void) | null = null;
let asked: Promise<boolean> | null = null;
let answer: (isSignedIn: boolean) => void = () => {};

/** Ask the person to sign in again; requests that wait for it at the same time share one dialog. */
export function askToSignIn(): Promise<boolean> {
  asked ??= new Promise<boolean>((resolve) => {
    answer = resolve;
    open?.();
  }).finally(() => {
    asked = null;
  });
  return asked;
}

export function SignInAgain() {
  const session = useSession();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    open = () => setOpen(true);
    return () => {
      open = null;
    };
  }, []);
  const finish = (isSignedIn: boolean) => {
    setOpen(false);
    answer(isSignedIn);
    if (isSignedIn) readAgain();
  };
  useEffect(() => {
    if (!isOpen) return;
    // Signing in in another tab, or with single sign-on, is enough.
    const look = () =>
      void sessionAnywhere().then(
        (now) => {
          if (now.actor === session.actor) finish(true);
        },
        () => {},
      );
    window.addEventListener("focus", look);
    return () => window.removeEventListener("focus", look);
  });
  return (
    <Modal
      opened={isOpen}
      onClose={() => finish(false)}
      title="Your session has ended"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
      zIndex={1000}
    >
      <Text size="sm" mb="md">
        Sign in again to continue. Your changes are kept.
      </Text>
      <SignInForm fixedEmail={session.user?.email} from="/" isInPlace done={() => finish(true)} />
      <Button variant="subtle" color="gray" fullWidth mt="xs" onClick={() => finish(false)}>
        Discard changes and leave
      </Button>
    </Modal>
  );
}
