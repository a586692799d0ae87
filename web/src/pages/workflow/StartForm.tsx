import { Button, Code, Group, JsonInput, Stack, Text, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { flowActs } from "../../api/workflows";
import { Dialog } from "../../parts/Dialog";
import { Faults } from "../../parts/Faults";
import { useAction } from "../../parts/useAction";
import { readObject } from "./json";

const EMPTY: Record<string, unknown> = {
  text: "",
  integer: 1,
  number: 1,
  boolean: false,
  list: [],
  map: {},
  any: null,
};
export type Inputs = Record<string, Record<string, unknown>>;
type Props = { workflow: { name: string; input: Inputs }; close: () => void };

/** An input with a place for everything that is asked for. */
export const firstInput = (inputs: Inputs): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(inputs).map(([name, about]) => [name, about.default ?? EMPTY[String(about.type)] ?? null]),
    ),
    null,
    2,
  );

export function StartForm({ workflow, close }: Props) {
  const wanted = Object.entries(workflow.input);
  const [input, setInput] = useState(() => firstInput(workflow.input));
  const [correlation, setCorrelation] = useState("");
  const navigate = useNavigate();
  const parsed = readObject(input);
  const start = useAction(() => flowActs.start(workflow.name, { input: parsed ?? {}, correlation }), {
    quiet: true,
    done: "Started",
    after: (made) => {
      close();
      void navigate({ to: "/executions/$execution", params: { execution: made.id }, ignoreBlocker: true });
    },
  });
  return (
    <Dialog onClose={close} title={`Start ${workflow.name}`}>
      <Stack>
        {wanted.length > 0 && (
          <Text size="sm" c="dimmed">
            Inputs:{" "}
            {wanted.map(([name, about], place) => (
              <span key={name}>
                {place ? ", " : ""}
                <Code>{name}</Code> ({String(about.type)})
              </span>
            ))}
            .
          </Text>
        )}
        <JsonInput
          label="Input"
          value={input}
          onChange={setInput}
          autosize
          minRows={4}
          error={parsed ? undefined : "Not a JSON object"}
          classNames={{ input: "mono" }}
          data-autofocus
        />
        <TextInput
          label="Correlation key"
          description="Identifies the execution for events, for example order-7."
          value={correlation}
          onChange={(event) => setCorrelation(event.currentTarget.value)}
        />
        {start.error ? <Faults fault={start.error} title="Could not start" /> : null}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button disabled={!parsed} loading={start.isPending} onClick={() => start.mutate(undefined)}>
            Start
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
