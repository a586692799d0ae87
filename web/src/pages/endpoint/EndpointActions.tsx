/** What can be done with an endpoint: run, pause, edit, and the menu of everything else. */
import { Button, Menu } from "@mantine/core";
import { IconChevronDown, IconCopy, IconEdit, IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { acts } from "../../api/actions";
import { useMay } from "../../api/session";
import type { Endpoint } from "../../api/types";
import { Confirm } from "../../parts/Confirm";
import { ButtonLink, MenuItemLink } from "../../parts/links";
import { useAction } from "../../parts/useAction";
import { PauseForm } from "./PauseForm";
import { TestCall } from "./TestCall";

export function EndpointActions({ endpoint }: { endpoint: Endpoint }) {
  const mayRun = useMay("run");
  const mayWrite = useMay("write");
  const navigate = useNavigate();
  const [asked, setAsked] = useState<"archive" | "delete" | "pause" | "test" | null>(null);
  const close = () => setAsked(null);
  const run = useAction(() => acts.run(endpoint.id), { done: `${endpoint.name} was asked to run` });
  const reset = useAction(() => acts.reset(endpoint.id), { done: "Failure count reset" });
  const archive = useAction(() => acts.archive(endpoint.id), { done: `${endpoint.name} is archived`, after: close });
  const remove = useAction(() => acts.remove(endpoint.id), {
    done: `${endpoint.name} is deleted`,
    after: () => void navigate({ to: "/endpoints" }),
  });
  if (endpoint.status === "archived" && !mayWrite) return null;
  const isArchived = endpoint.status === "archived";
  const isCalled = endpoint.kind !== "heartbeat"; // which calls nothing and waits for pings
  return (
    <>
      {mayRun && !isArchived && isCalled && (
        <Button
          leftSection={<IconPlayerPlay size={16} />}
          loading={run.isPending}
          onClick={() => run.mutate(undefined)}
        >
          Run now
        </Button>
      )}
      {mayRun && endpoint.status === "active" && (
        <Button variant="default" leftSection={<IconPlayerPause size={16} />} onClick={() => setAsked("pause")}>
          Pause
        </Button>
      )}
      {mayWrite && !isArchived && (
        <ButtonLink
          variant="default"
          leftSection={<IconEdit size={16} />}
          to="/endpoints/$endpoint/edit"
          params={{ endpoint: endpoint.id }}
        >
          Edit
        </ButtonLink>
      )}
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" rightSection={<IconChevronDown size={16} />}>
            More
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {mayRun && !isArchived && isCalled && <Menu.Item onClick={() => setAsked("test")}>Test call…</Menu.Item>}
          {mayRun && !isArchived && (
            <Menu.Item onClick={() => reset.mutate(undefined)} disabled={!endpoint.failure_count}>
              Reset failures
            </Menu.Item>
          )}
          {mayWrite && (
            <MenuItemLink leftSection={<IconCopy size={14} />} to="/endpoints/new" search={{ copy: endpoint.id }}>
              Duplicate
            </MenuItemLink>
          )}
          <MenuItemLink to="/events" search={{ endpoint: endpoint.id }}>
            Events
          </MenuItemLink>
          {mayWrite && <Menu.Divider />}
          {mayWrite && !isArchived && (
            <Menu.Item color="red" onClick={() => setAsked("archive")}>
              Archive…
            </Menu.Item>
          )}
          {mayWrite && (
            <Menu.Item color="red" onClick={() => setAsked("delete")}>
              Delete…
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {asked === "pause" && <PauseForm endpoint={endpoint} close={close} />}
      {asked === "test" && <TestCall endpoint={endpoint} close={close} />}
      <Confirm
        opened={asked === "archive"}
        onClose={close}
        title={`Archive ${endpoint.name}?`}
        verb="Archive"
        danger
        busy={archive.isPending}
        onConfirm={() => archive.mutate(undefined)}
      >
        The endpoint and its history are kept, but it will never run again. Its name can be reused.
      </Confirm>
      <Confirm
        opened={asked === "delete"}
        onClose={close}
        title={`Delete ${endpoint.name}?`}
        verb="Delete permanently"
        danger
        busy={remove.isPending}
        typed={endpoint.name}
        onConfirm={() => remove.mutate(undefined)}
      >
        The endpoint and all its runs are deleted. This cannot be undone. Archive the endpoint instead to keep its
        history.
      </Confirm>
    </>
  );
}
