/** A workflow played in no time with an input and events of one's own. Nothing is sent, nothing is kept. */
import { Alert, Button, Card, Grid, Group, JsonInput, Stack, Text, Title } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asProblem } from "../../api/client";
import { flowActs, graphQuery, type Simulated, type SimulatedEvent } from "../../api/flows";
import { JsonTree } from "../../parts/BodyViewer";
import { Faults } from "../../parts/Faults";
import { ExecutionStatus, standing } from "./ExecutionTable";
import { FlowGraph } from "./FlowGraph";
import { readList, readObject } from "./json";
import { Moments, statesOf } from "./Moments";
import { firstInput, type Inputs } from "./StartForm";

const EVENTS = '[{"type": "reply", "after": "1h", "data": {}}]';

export function TryIt({ name, version, inputs }: { name: string; version: number; inputs: Inputs }) {
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
            Given
          </Title>
          <Text size="sm" c="dimmed" mb="sm">
            Days pass in a moment: every call succeeds, nothing is sent and nothing is kept.
          </Text>
          <Stack gap="sm">
            <JsonInput
              label="Input"
              value={input}
              onChange={setInput}
              autosize
              minRows={3}
              error={given ? undefined : "This is not a JSON object"}
              classNames={{ input: "mono" }}
            />
            <JsonInput
              label="Events"
              description="What happens meanwhile, and how long after the start."
              placeholder={EVENTS}
              value={events}
              onChange={setEvents}
              autosize
              minRows={3}
              error={happening ? undefined : "This is not a JSON list"}
              classNames={{ input: "mono" }}
            />
            <Group>
              <Button
                leftSection={<IconPlayerPlay size={16} />}
                loading={play.isPending}
                disabled={!given || !happening}
                onClick={() => play.mutate()}
              >
                Try it
              </Button>
            </Group>
            {play.error ? <Faults fault={asProblem(play.error)} title="It could not be tried" /> : null}
          </Stack>
        </Card>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 8 }}>
        {play.data ? (
          <Played name={name} version={version} played={play.data} />
        ) : (
          <Card>
            <Text size="sm" c="dimmed">
              Try it, and what it would do stands here, step by step.
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
      <Card role="status" aria-label="How it ends">
        <Group gap="sm">
          <Title order={2}>How it ends</Title>
          <ExecutionStatus status={played.status} />
        </Group>
        {standing(played) !== played.status && (
          <Text size="sm" mt={4} className="breaks">
            {standing(played)}
          </Text>
        )}
      </Card>
      {played.cut && (
        <Alert color="orange" variant="light" title="It went on and on">
          It was not followed beyond 2,000 turns.
        </Alert>
      )}
      <Card>
        <Title order={2} mb="sm">
          What would happen
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
          What would be sent
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
