/** The command palette: pages, actions, and endpoints as the server finds them. */
import { useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { Spotlight, type SpotlightActionData, type SpotlightActionGroupData } from "@mantine/spotlight";
import { IconApi, IconClock, IconMoon, IconPlus, IconSearch } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useRef, useState } from "react";
import { endpointsQuery } from "../api/queries";
import { useTimeMode } from "../time/When";
import { scheduleWords } from "../words/schedule";
import { PAGES } from "./pages";

export function Palette() {
  const [query, setQuery] = useState("");
  const [wanted] = useDebouncedValue(query.trim(), 120);
  const navigate = useNavigate();
  const { next } = useTimeMode();
  const { toggleColorScheme } = useMantineColorScheme();
  const found = useInfiniteQuery({ ...endpointsQuery({ text: wanted }, 8), enabled: wanted.length > 0 });

  // Endpoints arrive after the rest: whoever types and presses Enter wants what stands first then.
  const moved = useRef(false);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter") moved.current = event.key.startsWith("Arrow");
    else if (!moved.current) {
      event.preventDefault();
      event.stopPropagation();
      document.querySelectorAll("[data-action][data-selected]").forEach((each) => each.removeAttribute("data-selected"));
      document.querySelector<HTMLElement>("[data-action]")?.click();
    }
  };

  const matches = (text: string) => text.toLowerCase().includes(query.trim().toLowerCase());
  const pages: SpotlightActionData[] = PAGES.filter((page) => matches(page.label + page.about)).map((page) => ({
    id: page.to, label: page.label, description: page.about, leftSection: <page.icon size={20} />,
    onClick: () => void navigate({ to: page.to }),
  }));
  const endpoints: SpotlightActionData[] = (wanted ? (found.data?.pages[0]?.items ?? []) : []).map((each) => ({
    id: each.id, label: each.name, description: `${each.job} · ${scheduleWords(each)} · ${each.method} ${each.url}`,
    leftSection: <IconApi size={20} />, onClick: () => void navigate({ to: "/endpoints/$endpoint", params: { endpoint: each.id } }),
  }));
  const acts: SpotlightActionData[] = [
    { id: "new", label: "New endpoint", description: "Call a URL on a schedule", leftSection: <IconPlus size={20} />, onClick: () => void navigate({ to: "/endpoints/new" }) },
    { id: "time", label: "Switch how times are shown", description: "Relative, local, UTC", leftSection: <IconClock size={20} />, onClick: next },
    { id: "scheme", label: "Switch light and dark", description: "Appearance", leftSection: <IconMoon size={20} />, onClick: toggleColorScheme },
  ].filter((act) => matches(act.label));
  const groups: SpotlightActionGroupData[] = [
    { group: "Endpoints", actions: endpoints }, { group: "Pages", actions: pages }, { group: "Actions", actions: acts },
  ].filter((group) => group.actions.length > 0);

  return (
    <Spotlight
      actions={groups} query={query} onQueryChange={setQuery} filter={(_, actions) => actions} scrollable maxHeight={420}
      shortcut={["mod + K"]} clearQueryOnClose nothingFound="Nothing found" highlightQuery
      searchProps={{ leftSection: <IconSearch size={18} />, placeholder: "Find an endpoint, a page, an action", "aria-label": "Find", onKeyDown }}
    />
  );
}
