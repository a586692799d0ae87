/**
 * Recorded executions replayed with a version, or with a document that nobody published yet: who would have gone
 * another way?
 */
import { Alert, Button, Card, Group, Select, Stack, Text, Title } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { addressOf } from "../../api/tenant";
import { flowActs, type ReplayedMany } from "../../api/workflows";
import { Failed } from "../../parts/Outcomes";
import { executionPath } from "../../parts/PlainLink";
import { proofWords, replayWords, strangers } from "../../words/replay";

const LIMITS = [50, 100, 200];

export function ReplayMany({ name, newest, versions }: { name: string; newest: number; versions: number[] }) {
  const [version, setVersion] = useState(newest);
  const [limit, setLimit] = useState(50);
  const replay = useMutation({ mutationFn: () => flowActs.replayMany(name, { version, limit }) });
  return (
    <Card component="section" aria-label="Replay">
      <Title order={2} mb={4}>
        Replay
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        Runs recorded executions again from their logs, without calls or waiting, and compares every entry.
      </Text>
      <Stack gap="sm">
        <Group align="flex-end">
          <Select
            label="With version"
            w={120}
            allowDeselect={false}
            value={String(version)}
            data={versions.map((each) => ({ value: String(each), label: `v${each}` }))}
            onChange={(value) => {
              setVersion(Number(value));
              replay.reset();
            }}
          />
          <Select
            label="Executions"
            w={160}
            allowDeselect={false}
            value={String(limit)}
            data={LIMITS.map((each) => ({ value: String(each), label: `newest ${each}` }))}
            onChange={(value) => {
              setLimit(Number(value));
              replay.reset();
            }}
          />
          <Button leftSection={<IconPlayerPlay size={16} />} loading={replay.isPending} onClick={() => replay.mutate()}>
            Replay
          </Button>
        </Group>
        <Replayed name={`version ${version}`} replay={replay} version={version} />
      </Stack>
    </Card>
  );
}

/** The same for a document while it is written. */
export function ReplayDocument({ workflow, document }: { workflow: string; document: string }) {
  const replay = useMutation({ mutationFn: () => flowActs.replayMany(workflow, { document, limit: 50 }) });
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Button variant="default" size="xs" loading={replay.isPending} onClick={() => replay.mutate()}>
          Replay recorded executions
        </Button>
        <Text size="sm" c="dimmed">
          See which executions this version would change before you publish it.
        </Text>
      </Group>
      <Replayed name="this document" replay={replay} version={null} />
    </Stack>
  );
}

type Asked = { data: ReplayedMany | undefined; error: Error | null; isPending: boolean; mutate: () => void };

function Replayed({ name, replay, version }: { name: string; replay: Asked; version: number | null }) {
  if (replay.isPending)
    return (
      <Text size="sm" c="dimmed" role="status">
        Replaying. Long logs take a few seconds…
      </Text>
    );
  if (replay.error) return <Failed fault={replay.error} retry={replay.mutate} />;
  if (!replay.data) return null;
  const { items } = replay.data;
  if (!items.length)
    return (
      <Text size="sm" role="status">
        No recorded executions to replay.
      </Text>
    );
  const left = items.filter((each) => !each.identical);
  const strange = strangers(items, version).length;
  return (
    <>
      <Alert color={strange ? "red" : left.length ? "orange" : "green"} title={replayWords(items)} role="status">
        <Text size="sm">{proofWords(items, name)}</Text>
        {strange > 0 && (
          <Text size="sm" mt={4}>
            {strange === 1 ? "One of them" : `${strange} of them`} ran with this very version, which must replay
            identically: verify the log on its page.
          </Text>
        )}
      </Alert>
      {left.length > 0 && <Different items={left} version={version} />}
    </>
  );
}

/** From a document that is not kept yet nobody is led away: its links open beside it. */
function Different({ items, version }: { items: ReplayedMany["items"]; version: number | null }) {
  const how = version === null ? { target: "_blank", rel: "noreferrer" } : {};
  return (
    <table className="list stacks" aria-label="Executions that differ">
      <thead>
        <tr>
          <th>Execution</th>
          <th>Version</th>
          <th>First difference</th>
          <th className="figure">Differences</th>
        </tr>
      </thead>
      <tbody>
        {items.map((each) => (
          <tr key={each.execution}>
            <td className="stack-title">
              <div>
                <a
                  className="go go-strong breaks"
                  href={`${addressOf(executionPath(each.execution))}?tab=replay${version === null ? "" : `&version=v${version}`}`}
                  {...how}
                >
                  {each.correlation || each.execution}
                </a>
              </div>
            </td>
            <td data-label="Version">v{each.version}</td>
            <td data-label="First" className="from-top">
              {each.first ? (
                <div>
                  <div className="breaks">
                    <b>
                      Entry {each.first.number}, {each.first.step}, {each.first.field}
                    </b>
                  </div>
                  <Side says="log" text={each.first.expected} />
                  <Side says="replay" text={each.first.actual} />
                </div>
              ) : (
                <div className="breaks">{each.trouble}</div>
              )}
            </td>
            <td data-label="Differences" className="figure">
              {each.trouble ? "–" : each.differences}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Side({ says, text }: { says: string; text: string }) {
  return (
    <div className="two-lines breaks" title={text}>
      <span className="quiet">{says}: </span>
      <span className="mono solid">{text}</span>
    </div>
  );
}
