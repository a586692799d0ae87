/**
 * The command palette: pages, actions, and endpoints as the server finds them. The browser's own dialog: it keeps the
 * focus, and gives it back.
 */
import { Kbd, useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconApi, IconClock, IconHistory, IconMoon, IconPlus, IconSearch } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { endpointsQuery } from "../api/queries";
import { useMay } from "../api/session";
import { endpointPath } from "../parts/PlainLink";
import { useTimeMode } from "../time/When";
import { scheduleWords } from "../words/schedule";
import { PAGES } from "./pages";

const OPEN = "mainspring-find";
export const openPalette = (): void => void window.dispatchEvent(new Event(OPEN));

export function Palette() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const open = () => setOpen(true);
    const onKey = (event: globalThis.KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      setOpen((before) => !before);
    };
    window.addEventListener(OPEN, open);
    window.addEventListener("keydown", onKey);
    return () => {
      window.removeEventListener(OPEN, open);
      window.removeEventListener("keydown", onKey);
    };
  }, []);
  return isOpen ? <Finder close={() => setOpen(false)} /> : null;
}

type Choice = { id: string; group: string; label: string; about: string; icon: ReactNode; act: () => void };

function Finder({ close }: { close: () => void }) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const choices = useChoices(query.trim());
  const chosen = Math.min(at, choices.length - 1);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the chosen one is looked up in the page
  useEffect(() => {
    dialog.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const act = (choice: Choice | undefined) => {
    if (!choice) return;
    dialog.current?.close(); // first, so that the focus is back before the act moves it
    choice.act();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((chosen + step + choices.length) % Math.max(1, choices.length));
    else if (event.key === "Enter") act(choices[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      className="finder"
      aria-label="Find"
      onClose={close}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close();
      }}
    >
      <div className="finder-field">
        <IconSearch size={18} aria-hidden="true" />
        <input
          autoFocus
          value={query}
          placeholder="Find an endpoint, a page, an action"
          aria-label="Find"
          role="combobox"
          aria-expanded="true"
          aria-controls="found"
          aria-activedescendant={`found-${chosen}`}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setQuery(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
        <Kbd size="xs">Esc</Kbd>
      </div>
      <div className="finder-list" id="found" role="listbox" aria-label="Found">
        {choices.map((choice, place) => (
          <div key={choice.id} role="presentation">
            {choice.group !== choices[place - 1]?.group && (
              <div className="finder-group" role="presentation">
                {choice.group}
              </div>
            )}
            <div
              id={`found-${place}`}
              role="option"
              aria-selected={place === chosen}
              className="finder-choice"
              onPointerMove={() => place !== chosen && setAt(place)}
              onClick={() => act(choice)}
            >
              {choice.icon}
              <div>
                <div>{choice.label}</div>
                <div className="small clip">{choice.about}</div>
              </div>
            </div>
          </div>
        ))}
        {!choices.length && <div className="finder-none">Nothing found</div>}
      </div>
    </dialog>
  );
}

function useChoices(query: string): Choice[] {
  const [wanted] = useDebouncedValue(query, 120);
  const navigate = useNavigate();
  const mayWrite = useMay("write");
  const { next } = useTimeMode();
  const { toggleColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const found = useInfiniteQuery({
    ...endpointsQuery({ text: wanted }, 8),
    enabled: wanted.length > 0,
    placeholderData: (before) => before,
  });
  const matches = (choice: Choice) => `${choice.label} ${choice.about}`.toLowerCase().includes(query.toLowerCase());
  const go = (href: string) => () => void navigate({ href });
  const endpoints = (query ? (found.data?.pages[0]?.items ?? []) : []).map(
    (each): Choice => ({
      id: each.id,
      group: "Endpoints",
      label: each.name,
      about: `${each.job} · ${scheduleWords(each)} · ${each.target}`,
      icon: <IconApi size={20} />,
      act: go(endpointPath(each.id)),
    }),
  );
  const pages = PAGES.map(
    (page): Choice => ({
      id: page.to,
      group: "Pages",
      label: page.label,
      about: page.about,
      icon: <page.icon size={20} />,
      act: go(page.to),
    }),
  );
  const acts: Choice[] = [
    ...(mayWrite
      ? [
          {
            id: "new",
            group: "Actions",
            label: "New endpoint",
            about: "Call a URL on a schedule",
            icon: <IconPlus size={20} />,
            act: go("/endpoints/new"),
          },
        ]
      : []),
    {
      id: "failed",
      group: "Actions",
      label: "Failed runs",
      about: "Newest first",
      icon: <IconHistory size={20} />,
      act: go("/runs?status=failure"),
    },
    {
      id: "time",
      group: "Actions",
      label: "Change time format",
      about: "Relative, local, UTC",
      icon: <IconClock size={20} />,
      act: next,
    },
    {
      id: "scheme",
      group: "Actions",
      label: "Switch between light and dark",
      about: "Appearance",
      icon: <IconMoon size={20} />,
      act: toggleColorScheme,
    },
  ];
  return [...endpoints, ...[...pages, ...acts].filter(matches)];
}
