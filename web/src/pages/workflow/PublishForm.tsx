/** Publish a document: what would change is shown before anything does. */
import { Alert, Button, Group, List, Stack, Text, Textarea } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { flowActs } from "../../api/workflows";
import { Dialog } from "../../parts/Dialog";
import { Faults } from "../../parts/Faults";
import { useAction } from "../../parts/useAction";
import { ReplayDocument } from "./ReplayMany";

const EXAMPLE_NAME = "order-follow-up";
const exampleNamed = (name: string): string => `name: ${name}
description: Confirm an order, wait, and ask for an opinion.
input: {order: integer}
steps:
  - id: confirm
    call: {url: "https://example.com/orders", method: POST, body: {order: "{{ input.order }}"}}
  - id: rest
    wait: 3d
  - id: reply
    wait_for: {event: reply, timeout: 2d, on_timeout: silent}
    next: end
  - id: silent
    end: silent
`;

/** An example under a name that no workflow has, archived or not: it replaces none. */
export function exampleBeside(taken: string[]): string {
  let name = EXAMPLE_NAME;
  for (let count = 2; taken.includes(name); count += 1) name = `${EXAMPLE_NAME}-${count}`;
  return exampleNamed(name);
}

export function PublishForm({ document, close }: { document: string; close: () => void }) {
  const [text, setText] = useState(document);
  const [settled] = useDebouncedValue(text, 400);
  const navigate = useNavigate();
  const check = useQuery({
    queryKey: ["rehearsal", settled],
    queryFn: () => flowActs.rehearse(settled),
    retry: false,
    staleTime: Infinity,
  });
  const publish = useAction(() => flowActs.publish(text), {
    done: (result) =>
      result.new
        ? `${result.name} is published as version ${result.version}`
        : "No changes: the newest version is identical",
    after: (result) => {
      close();
      void navigate({ to: "/workflows/$workflow", params: { workflow: result.name }, ignoreBlocker: true });
    },
  });
  const said = check.data;
  return (
    <Dialog onClose={close} title="Publish workflow" size="xl">
      <Stack>
        <Textarea
          label="Document"
          description="Running executions keep their version."
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          autosize
          minRows={12}
          maxRows={24}
          classNames={{ input: "mono" }}
          data-autofocus
        />
        {check.error ? <Faults fault={check.error} title="Not a valid workflow yet" /> : null}
        {said && !check.error && (
          <Alert
            color={said.new ? "cyan" : "gray"}
            variant="light"
            title={
              !said.new
                ? "No changes"
                : said.before
                  ? `${said.after.name}: version ${said.before.version + 1}`
                  : `${said.after.name} is new`
            }
          >
            {said.new && said.differences.length > 0 && (
              <List size="sm">
                {said.differences.map((each) => (
                  <List.Item key={each}>{each}</List.Item>
                ))}
              </List>
            )}
            {said.new && !said.differences.length && (
              <Text size="sm">
                {said.after.step_count} steps, beginning with {said.after.start}.
              </Text>
            )}
          </Alert>
        )}
        {said?.new && said.before && !check.error && settled === text && (
          <ReplayDocument key={text} workflow={said.after.name} document={text} />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button
            loading={publish.isPending}
            disabled={!said?.new || !!check.error || settled !== text}
            onClick={() => publish.mutate(undefined)}
          >
            Publish
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
