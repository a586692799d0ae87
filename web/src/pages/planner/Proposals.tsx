/** What advice would do in mode ask: a person approves or rejects each proposal. */
import { Badge, Button, Card, Group, SegmentedControl, Stack, Table, Text, TextInput, Title } from "@mantine/core";
import { IconChecklist } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Proposal, plannerActs, proposalsQuery } from "../../api/planner";
import { useMay } from "../../api/session";
import type { Endpoint } from "../../api/types";
import { Confirm } from "../../parts/Confirm";
import { AnchorLink } from "../../parts/links";
import { Empty, Failed, Pending } from "../../parts/Outcomes";
import { useAction } from "../../parts/useAction";
import { When } from "../../time/When";

export const proposalTone = (state: Proposal["state"]) =>
  state === "approved" ? "green" : state === "rejected" ? "red" : state === "pending" ? "orange" : "gray";

export function Proposals() {
  const [shown, setShown] = useState("pending");
  const proposals = useInfiniteQuery(proposalsQuery(shown === "pending" ? { state: "pending" } : {}));
  const items = proposals.data?.pages.flatMap((page) => page.items) ?? [];
  if (proposals.error && !proposals.data)
    return <Failed fault={proposals.error} retry={() => void proposals.refetch()} />;
  if (!proposals.data) return <Pending />;
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          In Ask mode, changes need approval before they are applied.
        </Text>
        <SegmentedControl
          size="xs"
          value={shown}
          onChange={setShown}
          aria-label="Proposal filter"
          data={[
            { value: "pending", label: "Pending" },
            { value: "all", label: "All" },
          ]}
        />
      </Group>
      {!items.length ? (
        <Empty
          icon={IconChecklist}
          title={shown === "pending" ? "No pending proposals" : "No proposals yet"}
          command="mainspring planner mode NAME ask"
        >
          Set the planner, or one endpoint, to Ask mode. Changes by rules, the model and workflows then wait here for
          approval.
        </Empty>
      ) : (
        <Card padding={0}>
          <ProposalTable proposals={items} />
        </Card>
      )}
      {proposals.hasNextPage && (
        <Button
          variant="default"
          mx="auto"
          loading={proposals.isFetchingNextPage}
          onClick={() => void proposals.fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </Stack>
  );
}

/** On the page of an endpoint, only where something is pending. */
export function ProposalsCard({ endpoint }: { endpoint: Endpoint }) {
  const proposals = useInfiniteQuery(proposalsQuery({ endpoint: endpoint.id, state: "pending" }));
  const items = proposals.data?.pages[0]?.items ?? [];
  if (!items.length) return null;
  return (
    <Card padding={0}>
      <Title order={2} p="md" pb="xs">
        Proposals
      </Title>
      <ProposalTable proposals={items} hideEndpoint />
    </Card>
  );
}

export function ProposalTable({ proposals, hideEndpoint }: { proposals: Proposal[]; hideEndpoint?: boolean }) {
  const mayRun = useMay("run");
  const [rejecting, setRejecting] = useState<Proposal | null>(null);
  const [reason, setReason] = useState("");
  const close = () => {
    setRejecting(null);
    setReason("");
  };
  const approve = useAction((id: string) => plannerActs.approve(id), { done: "Proposal approved and applied" });
  const reject = useAction((id: string) => plannerActs.reject(id, reason), {
    done: "Proposal rejected",
    after: close,
  });
  return (
    <>
      <Table className={hideEndpoint ? "stacks inset" : "stacks"} verticalSpacing={8}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Proposal</Table.Th>
            {!hideEndpoint && <Table.Th>Endpoint</Table.Th>}
            <Table.Th>By</Table.Th>
            <Table.Th>State</Table.Th>
            {mayRun && <Table.Th>Actions</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {proposals.map((each) => (
            <Table.Tr key={each.id}>
              <Table.Td className="stack-title" maw={420}>
                <div style={{ minWidth: 0 }}>
                  <Text size="sm" fw={600} className="breaks">
                    {each.does}
                  </Text>
                  <Text size="xs" className="breaks" fw={400}>
                    {each.reason}
                  </Text>
                </div>
              </Table.Td>
              {!hideEndpoint && (
                <Table.Td data-label="Endpoint" className="breaks">
                  <AnchorLink to="/endpoints/$endpoint" params={{ endpoint: each.endpoint_id }} size="sm">
                    {each.endpoint}
                  </AnchorLink>
                </Table.Td>
              )}
              <Table.Td data-label="By" className="breaks">
                <Cause proposal={each} />
              </Table.Td>
              <Table.Td data-label="State">
                <Badge color={proposalTone(each.state)} tt="none">
                  {each.state}
                </Badge>
                <Text size="xs" c="dimmed" className="breaks">
                  {each.state === "pending" ? (
                    <>
                      expires <When at={each.expires_at} />
                    </>
                  ) : (
                    <>
                      <When at={each.decided_at} none="" />
                      {each.decided_by && each.decided_by !== "system"
                        ? ` by ${each.decided_by.replace(/^user:/, "")}`
                        : ""}
                      {each.note ? `: ${each.note}` : ""}
                    </>
                  )}
                </Text>
              </Table.Td>
              {mayRun && (
                <Table.Td>
                  {each.state === "pending" && (
                    <Group gap={6} wrap="nowrap">
                      <Button
                        size="compact-sm"
                        loading={approve.isPending && approve.variables === each.id}
                        onClick={() => approve.mutate(each.id)}
                        aria-label={`Approve: ${each.does} of ${each.endpoint}`}
                      >
                        Approve
                      </Button>
                      <Button
                        size="compact-sm"
                        variant="default"
                        onClick={() => setRejecting(each)}
                        aria-label={`Reject: ${each.does} of ${each.endpoint}`}
                      >
                        Reject
                      </Button>
                    </Group>
                  )}
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Confirm
        opened={!!rejecting}
        onClose={close}
        title="Reject proposal?"
        verb="Reject"
        danger
        busy={reject.isPending}
        onConfirm={() => rejecting && reject.mutate(rejecting.id)}
      >
        Nothing is changed. The same change is not proposed again until this proposal would have expired.
        <TextInput
          mt="sm"
          label="Reason (optional)"
          value={reason}
          maxLength={1000}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      </Confirm>
    </>
  );
}

/** Who proposed it, with the way to what caused it. */
function Cause({ proposal }: { proposal: Proposal }) {
  const name = proposal.author.slice(proposal.author.indexOf(":") + 1);
  const words = `${proposal.kind} ${proposal.kind === "workflow" ? "execution" : name}`;
  if (!proposal.cause) return <Text size="sm">{words}</Text>;
  if (proposal.kind === "rule")
    return (
      <AnchorLink to="/runs/$run" params={{ run: proposal.cause }} size="sm">
        {words}
      </AnchorLink>
    );
  if (proposal.kind === "model")
    return (
      <AnchorLink to="/planner/sessions/$session" params={{ session: proposal.cause }} size="sm">
        {words}
      </AnchorLink>
    );
  return (
    <AnchorLink to="/executions/$execution" params={{ execution: proposal.cause }} size="sm">
      {words}
    </AnchorLink>
  );
}
