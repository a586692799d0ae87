/** One look of a language model: what it called, step by step, what it made of it, and what that cost. */
import { Alert, Badge, Card, Grid, Group, Stack, Text, Title } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { type PlannerSession, plannerSessionQuery } from "../api/planner";
import { KeyValueList } from "../parts/KeyValueList";
import { AnchorLink, ButtonLink } from "../parts/links";
import { Failed, PendingPage } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { When } from "../time/When";
import { took } from "../words/duration";
import { dollars } from "../words/money";
import { sessionTone } from "./planner/Sessions";

const ENDED: Record<string, string> = {
  failed: "Session failed",
  incomplete: "Ended without an analysis",
  stopped: "Session stopped",
};

export function SessionDetail() {
  const { session: id } = useParams({ from: "/inside/planner/sessions/$session" });
  const session = useQuery(plannerSessionQuery(id));
  if (session.error && !session.data)
    return (
      <Page title="Session">
        <Failed fault={session.error} retry={() => void session.refetch()} />
      </Page>
    );
  if (!session.data) return <PendingPage />;
  return <Shown session={session.data} />;
}

function Shown({ session }: { session: PlannerSession }) {
  return (
    <Page
      title={`Session on ${session.endpoint}`}
      heading={
        <Group gap="sm">
          Session on {session.endpoint}{" "}
          <Badge color={sessionTone(session.status)} tt="none">
            {session.status}
          </Badge>
        </Group>
      }
      about={
        <>
          <When at={session.at} /> · <span className="mono breaks">{session.id}</span>
        </>
      }
      actions={
        <ButtonLink
          to="/planner"
          search={{ tab: "sessions" }}
          variant="default"
          leftSection={<IconArrowLeft size={16} />}
        >
          All sessions
        </ButtonLink>
      }
    >
      {session.mode === "ask" && (
        <Alert color="orange" title="Mode ask">
          Nothing was changed. The proposed changes wait for approval under Proposals.
        </Alert>
      )}
      {session.mode === "shadow" && (
        <Alert color="orange" title="Shadow mode">
          Nothing was changed. The calls below show what the model would have done.
        </Alert>
      )}
      {session.note && (
        <Alert color={session.status === "failed" ? "red" : "gray"} title={ENDED[session.status] ?? "Session skipped"}>
          <Text size="sm" className="breaks">
            {session.note}
          </Text>
        </Alert>
      )}
      <Grid gap="md">
        <Grid.Col span={{ base: 12, lg: 8 }}>
          <Stack>
            {(session.reasoning || session.actions_taken) && (
              <Card>
                <Title order={2} mb="sm">
                  Conclusion
                </Title>
                {session.actions_taken && (
                  <Text fw={600} className="breaks">
                    {session.actions_taken}
                  </Text>
                )}
                {session.reasoning && (
                  <Text size="sm" mt={4} className="breaks" style={{ whiteSpace: "pre-wrap" }}>
                    {session.reasoning}
                  </Text>
                )}
                {session.warnings.map((each) => (
                  <Text key={each} size="sm" c="orange" mt={4} className="breaks">
                    {each}
                  </Text>
                ))}
              </Card>
            )}
            <Card>
              <Title order={2} mb="sm">
                Steps
              </Title>
              {!session.tool_calls.length && (
                <Text size="sm" c="dimmed">
                  No tools were called.
                </Text>
              )}
              <Stack gap="md" component="ol" style={{ listStyle: "none", margin: 0, padding: 0 }}>
                {session.tool_calls.map((call, place) => (
                  <li key={place}>
                    <Group gap="xs">
                      <Badge color="cyan" circle>
                        {place + 1}
                      </Badge>
                      <Text fw={600} size="sm" className="mono">
                        {call.tool}
                      </Text>
                    </Group>
                    {Object.keys(call.arguments).length > 0 && (
                      <pre
                        className="raw"
                        tabIndex={0}
                        aria-label={`Arguments of step ${place + 1}`}
                        style={{ marginTop: 6 }}
                      >
                        {JSON.stringify(call.arguments, null, 2)}
                      </pre>
                    )}
                    <pre className="raw quoted" tabIndex={0} aria-label={`Result of step ${place + 1}`}>
                      {call.result || "(nothing)"}
                    </pre>
                  </li>
                ))}
              </Stack>
            </Card>
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 4 }}>
          <Card>
            <Title order={2} mb="sm">
              Details
            </Title>
            <KeyValueList
              rows={[
                [
                  "Endpoint",
                  <AnchorLink to="/endpoints/$endpoint" params={{ endpoint: session.endpoint_id }} size="sm">
                    {session.endpoint}
                  </AnchorLink>,
                ],
                ["Model", <span className="mono">{session.model || "–"}</span>],
                ["Tokens in", session.tokens_in.toLocaleString()],
                ["Tokens out", session.tokens_out.toLocaleString()],
                ["Cost", `${dollars(session.cost_usd)}, estimated`],
                ["Duration", took(session.duration_ms)],
                ["Confidence", session.confidence || "–"],
                ["Next analysis", <When at={session.next_analysis_at} />],
              ]}
            />
          </Card>
        </Grid.Col>
      </Grid>
    </Page>
  );
}
