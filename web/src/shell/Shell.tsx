/** The frame around every page: where to go, what is shown how, whether it is live, and who is here. */
import {
  ActionIcon,
  AppShell,
  Box,
  Burger,
  Button,
  Group,
  Kbd,
  Menu,
  Modal,
  SegmentedControl,
  Stack,
  Table,
  Text,
  Tooltip,
  UnstyledButton,
  useMantineColorScheme,
  VisuallyHidden,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconKeyboard, IconLogout, IconMoon, IconPlus, IconSearch, IconSun, IconUserCircle } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import { memo, startTransition, useEffect, useMemo } from "react";
import { api } from "../api/client";
import { LiveProvider } from "../api/live";
import { forgetVisit, useMay, useSession } from "../api/session";
import { ButtonLink, NavigationLink } from "../parts/links";
import type { TimeMode } from "../time/format";
import { useTimeMode } from "../time/When";
import { PlannerBanner, ServerBanner } from "./Banners";
import { DemoBanner } from "./DemoBanner";
import { KEYS, useKeys } from "./keys";
import { LiveBadge } from "./LiveBadge";
import { Logo } from "./Logo";
import { useLinks } from "./links";
import { openPalette, Palette } from "./Palette";
import { PAGES } from "./pages";
import { SignInAgain } from "./SignInAgain";
import { TenantMenu } from "./TenantMenu";

export function Shell() {
  const session = useSession();
  const [navOpen, nav] = useDisclosure();
  const [keysOpen, keys] = useDisclosure();
  useShortcuts(keys.open);
  useLinks();
  return (
    <LiveProvider>
      <a className="skip-link" href="#main">
        Skip to content
      </a>
      <AppShell header={{ height: 56 }} navbar={{ width: 208, breakpoint: "sm", collapsed: { mobile: !navOpen } }}>
        <AppShell.Header>
          <Group h="100%" px="md" justify="space-between" wrap="nowrap" gap="sm">
            <Group gap="sm" wrap="nowrap">
              <Burger opened={navOpen} onClick={nav.toggle} hiddenFrom="sm" size="sm" aria-label="Pages" />
              <UnstyledButton component={Link} to="/" aria-label="Mainspring overview">
                <Group gap={8} wrap="nowrap">
                  <Logo />
                  <Text fw={700} size="lg" visibleFrom="xs">
                    Mainspring
                  </Text>
                </Group>
              </UnstyledButton>
              <TenantMenu />
            </Group>
            <Group gap="xs" wrap="nowrap">
              <Button
                variant="default"
                color="gray"
                leftSection={<IconSearch size={16} />}
                rightSection={<Kbd size="xs">Ctrl K</Kbd>}
                onClick={openPalette}
                visibleFrom="md"
                fw={400}
              >
                Find
              </Button>
              <ActionIcon
                variant="subtle"
                color="gray"
                size="lg"
                hiddenFrom="md"
                onClick={openPalette}
                aria-label="Find"
              >
                <IconSearch size={18} />
              </ActionIcon>
              <LiveBadge />
              <TimeSwitch />
              <Box visibleFrom="xs">
                <SchemeSwitch />
              </Box>
              <UserMenu showKeys={keys.open} />
            </Group>
          </Group>
        </AppShell.Header>
        <AppShell.Navbar p="xs">
          <Navigation close={nav.close} />
        </AppShell.Navbar>
        <AppShell.Main id="main" tabIndex={-1}>
          <ServerBanner />
          {session.demo && <DemoBanner />}
          {session.scopes.includes("read") && <PlannerBanner />}
          <Outlet />
        </AppShell.Main>
      </AppShell>
      <Palette />
      <SignInAgain />
      <Modal opened={keysOpen} onClose={keys.close} title="Keyboard shortcuts" size="md">
        <KeyList />
      </Modal>
    </LiveProvider>
  );
}

/** Knows where one is, so that the frame around it need not be drawn again with every page. */
const Navigation = memo(function Navigation({ close }: { close: () => void }) {
  const mayWrite = useMay("write");
  const pathname = useLocation({ select: (location) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when another page opens
  useEffect(() => close(), [pathname, close]);
  return (
    <Stack gap={4} component="nav" aria-label="Pages">
      {PAGES.map((page) => (
        <NavigationLink
          key={page.to}
          to={page.to}
          label={page.label}
          leftSection={<page.icon size={18} />}
          active={page.to === "/" ? pathname === "/" : pathname.startsWith(page.to)}
          variant="light"
          style={{ borderRadius: "var(--mantine-radius-md)" }}
        />
      ))}
      {mayWrite && (
        <ButtonLink to="/endpoints/new" leftSection={<IconPlus size={16} />} mt="sm">
          New endpoint
        </ButtonLink>
      )}
    </Stack>
  );
});

function TimeSwitch() {
  const { mode, setMode } = useTimeMode();
  const ways: { value: TimeMode; label: string }[] = [
    { value: "relative", label: "Relative" },
    { value: "local", label: "Local" },
    { value: "utc", label: "UTC" },
  ];
  return (
    <SegmentedControl
      visibleFrom="lg"
      size="xs"
      value={mode}
      onChange={(value) => setMode(value as TimeMode)}
      data={ways}
      aria-label="Time format"
    />
  );
}

function SchemeSwitch() {
  // To hold them still costs two passes over all styles.
  const { setColorScheme, colorScheme } = useMantineColorScheme({ keepTransitions: true });
  const isDark =
    colorScheme === "dark" || (colorScheme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  // The colours change at once, what knows of them after it.
  const turn = () => startTransition(() => setColorScheme(isDark ? "light" : "dark"));
  return (
    <Tooltip label={isDark ? "Light" : "Dark"}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        onClick={turn}
        aria-label={isDark ? "Switch to light theme" : "Switch to dark theme"}
      >
        {isDark ? <IconSun size={18} /> : <IconMoon size={18} />}
      </ActionIcon>
    </Tooltip>
  );
}

function UserMenu({ showKeys }: { showKeys: () => void }) {
  const session = useSession();
  const client = useQueryClient();
  const navigate = useNavigate();
  const { mode, setMode } = useTimeMode();
  const leave = async () => {
    await api.POST("/api/v1/auth/logout");
    client.clear();
    forgetVisit();
    await navigate({ to: "/login" });
  };
  return (
    <Menu position="bottom-end" width={250}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Account">
          <IconUserCircle size={20} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="sm" fw={600} c="var(--mantine-color-text)" className="breaks">
            {session.user?.name || session.user?.email || session.actor}
          </Text>
          <Text size="xs" c="dimmed">
            Tenant {session.tenant ?? "none"} · {session.scopes.join(", ")}
          </Text>
        </Menu.Label>
        <Menu.Divider />
        <Menu.Label>Times</Menu.Label>
        {(["relative", "local", "utc"] as const).map((way) => (
          <Menu.Item
            key={way}
            onClick={() => setMode(way)}
            closeMenuOnClick={false}
            aria-current={way === mode}
            fw={way === mode ? 600 : 400}
          >
            {way === "utc" ? "UTC" : way === "local" ? "Local" : "Relative"}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<IconKeyboard size={16} />} onClick={showKeys}>
          Keyboard shortcuts
        </Menu.Item>
        {!session.demo && (
          <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void leave()}>
            Sign out
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

function KeyList() {
  return (
    <Stack>
      {KEYS.map((part) => (
        <Table key={part.where} withRowBorders={false} verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={90}>{part.where}</Table.Th>
              <Table.Th>
                <VisuallyHidden>Meaning</VisuallyHidden>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {part.keys.map((each) => (
              <Table.Tr key={each.keys}>
                <Table.Td className="nowrap">
                  {each.keys.split(" ").map((key) => (
                    <Kbd key={key} mr={4} size="sm">
                      {key}
                    </Kbd>
                  ))}
                </Table.Td>
                <Table.Td>{each.means}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      ))}
    </Stack>
  );
}

function useShortcuts(showKeys: () => void): void {
  const navigate = useNavigate();
  const mayWrite = useMay("write");
  const { next } = useTimeMode();
  const actions = useMemo(
    () => ({
      "?": showKeys,
      t: next,
      ...(mayWrite ? { c: () => void navigate({ to: "/endpoints/new" }) } : {}),
      ...Object.fromEntries(PAGES.map((page) => [page.key, () => void navigate({ to: page.to })])),
    }),
    [mayWrite, navigate, next, showKeys],
  );
  useKeys(actions);
}
