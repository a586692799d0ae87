/** Ask before what cannot be taken back. */
import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";

type Props = {
  opened: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  verb: string;
  onConfirm: () => void;
  busy?: boolean;
  disabled?: boolean;
  danger?: boolean;
  typed?: string;
  cancel?: string;
};

export function Confirm(props: Props) {
  const { opened, onClose, title, children, verb, onConfirm, busy, disabled, danger, typed, cancel = "Cancel" } = props;
  const [text, setText] = useState("");
  return (
    <Modal opened={opened} onClose={onClose} title={title}>
      <Stack>
        <Text size="sm" component="div">
          {children}
        </Text>
        {typed && (
          <TextInput
            label={`Type ${typed} to continue`}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            data-autofocus
          />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {cancel}
          </Button>
          <Button
            color={danger ? "red" : undefined}
            loading={busy}
            disabled={disabled || (!!typed && text !== typed)}
            onClick={onConfirm}
            data-autofocus={typed ? undefined : true}
          >
            {verb}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
