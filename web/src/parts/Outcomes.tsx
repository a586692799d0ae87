/** What a page shows instead of itself: it is coming, it failed, there is no such thing, there is nothing yet. */
import {
  Alert,
  Button,
  Card,
  Center,
  Code,
  CopyButton,
  Group,
  Skeleton,
  Stack,
  Text,
  ThemeIcon,
  Title,
} from "@mantine/core";
import { IconAlertTriangle, IconMapPinOff, IconPlugConnectedX } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { type ErrorComponentProps, useLocation, useRouter } from "@tanstack/react-router";
import type { ComponentType, ReactNode } from "react";
import { asProblem, UNREACHABLE } from "../api/client";
import { NotAMember } from "../api/session";
import { PAGES } from "../shell/pages";
import { ButtonLink } from "./links";
import { NotMember } from "./NotMember";

export function Pending() {
  return (
    <Stack role="status" aria-busy="true" aria-label="Loading">
      <Skeleton height={120} />
      <Skeleton height={240} />
    </Stack>
  );
}

/** A whole page that is coming, framed as the page will be, so that nothing jumps. */
export function PendingPage() {
  return (
    <Stack gap="md" p={{ base: "sm", sm: "lg" }} maw={1400} mx="auto" w="100%">
      <Skeleton height={30} width={220} />
      <Pending />
    </Stack>
  );
}

/** A failed read in its place on the page, with the way to try again; from what is not there, the way to what is. */
export function Failed({ fault, retry }: { fault: unknown; retry?: () => void }) {
  const problem = asProblem(fault);
  const Icon = problem.status === UNREACHABLE ? IconPlugConnectedX : IconAlertTriangle;
  const pathname = useLocation({ select: (location) => location.pathname });
  const above = PAGES.find((page) => page.to !== "/" && pathname.startsWith(`${page.to}/`));
  return (
    <Alert color={problem.status === 404 ? "gray" : "red"} icon={<Icon />} title={problem.title} role="alert">
      <Text size="sm" className="breaks">
        {problem.message}
      </Text>
      {problem.requestId && problem.status !== 404 && (
        <Text size="xs" c="dimmed" mt={4}>
          Request <span className="mono">{problem.requestId}</span>: see the server's log for details.
        </Text>
      )}
      {retry && problem.status !== 404 && (
        <Button mt="sm" size="xs" variant="default" onClick={retry}>
          Try again
        </Button>
      )}
      {above && problem.status === 404 && (
        <ButtonLink mt="sm" size="xs" variant="default" to={above.to}>
          Go to {above.label.toLowerCase()}
        </ButtonLink>
      )}
    </Alert>
  );
}

export function Broken({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const client = useQueryClient();
  const again = () => {
    void client.invalidateQueries();
    reset();
    void router.invalidate();
  };
  if (error instanceof NotAMember) return <NotMember fault={error} />;
  return (
    <Center mih="60vh" p="md">
      <Stack maw={520} w="100%">
        <Failed fault={error} retry={again} />
      </Stack>
    </Center>
  );
}

export function Missing() {
  return (
    <Empty isPage icon={IconMapPinOff} title="Page not found" action={<ButtonLink to="/">Go to overview</ButtonLink>}>
      The address may be wrong, or the object was deleted.
    </Empty>
  );
}

type EmptyProps = {
  icon: ComponentType<{ size?: number }>;
  title: string;
  children: ReactNode;
  action?: ReactNode;
  command?: string;
  isPage?: true;
};

/** Nothing yet: one sentence, one button, one command to copy. */
export function Empty({ icon: Icon, title, children, action, command, isPage }: EmptyProps) {
  const Frame = isPage ? "div" : Card;
  return (
    <Frame>
      <Center py={48} px="md">
        <Stack align="center" gap="sm" maw={640} ta="center">
          <ThemeIcon size={52} radius="xl" variant="light" color="cyan">
            <Icon size={28} />
          </ThemeIcon>
          <Title order={isPage ? 1 : 2}>{title}</Title>
          <Text c="dimmed">{children}</Text>
          {action}
          {command && <Command text={command} />}
        </Stack>
      </Center>
    </Frame>
  );
}

export function Command({ text }: { text: string }) {
  return (
    <Group gap="xs" wrap="nowrap" maw="100%">
      <Code
        block
        style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere", textAlign: "left", minWidth: 0 }}
        aria-label="Command"
      >
        {text}
      </Code>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <Button size="xs" variant="default" onClick={copy} style={{ flexShrink: 0 }}>
            {copied ? "Copied" : "Copy"}
          </Button>
        )}
      </CopyButton>
    </Group>
  );
}
