/** A workflow played in no time with an input and events of one's own. Nothing is sent, nothing is kept. */
import { Alert, Button, Card, Grid, Group, JsonInput, Stack, Text, Title } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asProblem } from "../../api/client";
import { flowActs, graphQuery, type Simulated, type SimulatedEvent } from "../../api/workflows";
import { JsonTree } from "../../parts/BodyViewer";
import { Faults } from "../../parts/Faults";
import { ExecutionStatus, standing } from "./ExecutionTable";
import { Moments, statesOf } from "./ExecutionTimeline";
import { FlowGraph } from "./FlowGraph";
import { readList, readObject } from "./json";
import { firstInput, type Inputs } from "./StartForm";

const EVENTS = '[{"type": "reply", "after": "1h", "data": {}}]';

export function WorkflowTrial({ name, version, inputs }: { name: string; version: number; inputs: Inputs }) {
  const [input, setInput] = useState(() => firstInput(inputs));
  const [events, setEvents] = useState("");
  const given = readObject(input);
  const happening = readList<SimulatedEvent>(events);
  const play = useMutation({
    mutationFn: () => flowActs.simulate({ workflow: name, version, input: given ?? {}, events: happening ?? [] }),
  });
  return (
    <Grid>
      <Grid.Col span={{ base: 12, lg: 4 }}>
        <Card>
          <Title order={2} mb={4}>
            Trial input
          </Title>
          <Text size="sm" c="dimmed" mb="sm">
            Simulates the workflow: every call succeeds, and nothing is sent or stored.
          </Text>
          <Stack gap="sm">
            <JsonInput
              label="Input"
              value={input}
              onChange={setInput}
              autosize
              minRows={3}
              error={given ? undefined : "Not a JSON object"}
              classNames={{ input: "mono" }}
            />
            <JsonInput
              label="Events"
              description="Events to deliver, with their delay after the start."
              placeholder={EVENTS}
              value={events}
              onChange={setEvents}
              autosize
              minRows={3}
              error={happening ? undefined : "Not a JSON list"}
              classNames={{ input: "mono" }}
            />
            <Group>
              <Button
                leftSection={<IconPlayerPlay size={16} />}
                loading={play.isPending}
                disabled={!given || !happening}
                onClick={() => play.mutate()}
              >
                Run trial
              </Button>
            </Group>
            {play.error ? <Faults fault={asProblem(play.error)} title="Trial failed" /> : null}
          </Stack>
        </Card>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 8 }}>
        {play.data ? (
          <Played name={name} version={version} played={play.data} />
        ) : (
          <Card>
            <Text size="sm" c="dimmed">
              Run a trial to see each step here.
            </Text>
          </Card>
        )}
      </Grid.Col>
    </Grid>
  );
}

function Played({ name, version, played }: { name: string; version: number; played: Simulated }) {
  const graph = useQuery(graphQuery(name, version));
  return (
    <Stack>
      <Card role="status" aria-label="Result">
        <Group gap="sm">
          <Title order={2}>Result</Title>
          <ExecutionStatus status={played.status} />
        </Group>
        {standing(played) !== played.status && (
          <Text size="sm" mt={4} className="breaks">
            {standing(played)}
          </Text>
        )}
      </Card>
      {played.cut && (
        <Alert color="orange" variant="light" title="Stopped after 2,000 turns">
          The trial did not end within 2,000 turns.
        </Alert>
      )}
      <Card>
        <Title order={2} mb="sm">
          Timeline
        </Title>
        <Moments moments={played.timeline} isPlayed />
      </Card>
      {graph.data && (
        <Card>
          <FlowGraph graph={graph.data} states={statesOf(played)} />
        </Card>
      )}
      <Card>
        <Title order={2} mb="sm">
          Calls and messages
        </Title>
        {played.effects.length ? (
          <JsonTree value={played.effects} />
        ) : (
          <Text size="sm" c="dimmed">
            Nothing.
          </Text>
        )}
      </Card>
    </Stack>
  );
}
