/** Jobs: named groups of endpoints, paused and archived together. */
import { Badge, Button, Card, Group, Stack, Table, Text, TextInput } from "@mantine/core";
import { IconPlus, IconStack2 } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { jobActs } from "../api/actions";
import { asProblem } from "../api/client";
import { jobsQuery } from "../api/queries";
import { useMay } from "../api/session";
import type { Job } from "../api/types";
import { Confirm } from "../parts/Confirm";
import { Dialog } from "../parts/Dialog";
import { AnchorLink } from "../parts/links";
import { Empty, Failed, Pending } from "../parts/Outcomes";
import { Page } from "../parts/Page";
import { useAction } from "../parts/useAction";
import { When } from "../time/When";
import { COLOR, stateTone } from "../words/state";

export function Jobs() {
  const jobs = useQuery(jobsQuery);
  const mayRun = useMay("run");
  const mayWrite = useMay("write");
  const [editing, setEditing] = useState<Job | "new" | null>(null);
  const items = jobs.data?.items ?? [];
  return (
    <Page
      title="Jobs"
      about="Jobs group endpoints that are paused and archived together."
      actions={
        mayWrite && (
          <Button leftSection={<IconPlus size={16} />} onClick={() => setEditing("new")}>
            New job
          </Button>
        )
      }
    >
      {jobs.error && !jobs.data ? <Failed fault={jobs.error} retry={() => void jobs.refetch()} /> : null}
      {jobs.isPending ? <Pending /> : null}
      {jobs.data && !items.length && (
        <Empty icon={IconStack2} title="No jobs yet" command="mainspring job add nightly">
          Jobs are created here or by the first endpoint that uses one.
        </Empty>
      )}
      {items.length > 0 && (
        <Card padding={0}>
          <Table className="stacks" verticalSpacing={8}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Job</Table.Th>
                <Table.Th>State</Table.Th>
                <Table.Th>Managed by</Table.Th>
                <Table.Th>Changed</Table.Th>
                {mayRun && <Table.Th>Actions</Table.Th>}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {items.map((job) => (
                <Row key={job.id} job={job} edit={() => setEditing(job)} />
              ))}
            </Table.Tbody>
          </Table>
        </Card>
      )}
      {editing && <JobForm job={editing === "new" ? null : editing} close={() => setEditing(null)} />}
    </Page>
  );
}

function Row({ job, edit }: { job: Job; edit: () => void }) {
  const mayRun = useMay("run");
  const mayWrite = useMay("write");
  const [asked, setAsked] = useState(false);
  const pause = useAction(() => jobActs.pause(job.id), { done: `${job.name} is paused` });
  const resume = useAction(() => jobActs.resume(job.id), { done: `${job.name} resumed` });
  const archive = useAction(() => jobActs.archive(job.id), {
    done: `${job.name} is archived`,
    after: () => setAsked(false),
  });
  return (
    <Table.Tr>
      <Table.Td className="stack-title">
        <div>
          <AnchorLink to="/endpoints" search={{ job: job.name }} fw={600} size="sm" className="breaks">
            {job.name}
          </AnchorLink>
          {job.description && (
            <Text size="xs" c="dimmed" className="breaks">
              {job.description}
            </Text>
          )}
        </div>
      </Table.Td>
      <Table.Td data-label="State">
        <Badge color={COLOR[stateTone(job.status)]} tt="none">
          {job.status}
        </Badge>
      </Table.Td>
      <Table.Td data-label="Managed by">
        {job.managed_by ? <span className="mono">{job.managed_by}</span> : <span className="quiet">manual</span>}
      </Table.Td>
      <Table.Td data-label="Changed">
        <When at={job.updated_at} />
      </Table.Td>
      {mayRun && (
        <Table.Td>
          <Group gap={6}>
            {job.status === "active" && (
              <Button
                size="compact-sm"
                variant="default"
                loading={pause.isPending}
                onClick={() => pause.mutate(undefined)}
              >
                Pause
              </Button>
            )}
            {job.status === "paused" && (
              <Button
                size="compact-sm"
                variant="default"
                loading={resume.isPending}
                onClick={() => resume.mutate(undefined)}
              >
                Resume
              </Button>
            )}
            {mayWrite && job.status !== "archived" && (
              <Button size="compact-sm" variant="subtle" onClick={edit}>
                Edit
              </Button>
            )}
            {mayWrite && job.status !== "archived" && (
              <Button size="compact-sm" variant="subtle" color="red" onClick={() => setAsked(true)}>
                Archive
              </Button>
            )}
          </Group>
          <Confirm
            opened={asked}
            onClose={() => setAsked(false)}
            title={`Archive ${job.name}?`}
            verb="Archive"
            danger
            busy={archive.isPending}
            onConfirm={() => archive.mutate(undefined)}
          >
            All endpoints of the job are archived with it. They keep their history but never run again.
          </Confirm>
        </Table.Td>
      )}
    </Table.Tr>
  );
}

function JobForm({ job, close }: { job: Job | null; close: () => void }) {
  const [name, setName] = useState(job?.name ?? "");
  const [description, setDescription] = useState(job?.description ?? "");
  const save = useAction(
    () => (job ? jobActs.update(job.id, { name, description }) : jobActs.create({ name, description })),
    { done: "Saved", after: close, quiet: true },
  );
  const fault = save.error ? asProblem(save.error) : null;
  return (
    <Dialog onClose={close} title={job ? `Edit ${job.name}` : "New job"}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(undefined);
        }}
      >
        <Stack>
          <TextInput
            label="Name"
            required
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={fault?.of("name") ?? fault?.message}
            data-autofocus
          />
          <TextInput
            label="Description"
            value={description}
            onChange={(event) => setDescription(event.currentTarget.value)}
            error={fault?.of("description")}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
