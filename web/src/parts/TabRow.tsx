/** Tabs in one row that scrolls on a narrow screen, with the chosen one in sight. */
import { Tabs } from "@mantine/core";
import { useEffect, useRef } from "react";

/** The tab that an address asks for, or the first where there is none of that name. */
export const tabOf = (tabs: [string, string][], asked: string | undefined): string =>
  (tabs.find(([name]) => name === asked) ?? tabs[0])?.[0] ?? "";

export function TabRow({ tabs, chosen }: { tabs: [string, string][]; chosen: string }) {
  const row = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the tab that is chosen is looked up in the page
  useEffect(() => {
    const tab = row.current?.querySelector<HTMLElement>("[data-active]");
    if (row.current && tab) row.current.scrollLeft = tab.offsetLeft - (row.current.clientWidth - tab.offsetWidth) / 2;
  }, [chosen]);
  return (
    <Tabs.List mb="md" className="tabs-in-a-row" ref={row}>
      {tabs.map(([value, label]) => (
        <Tabs.Tab key={value} value={value}>
          {label}
        </Tabs.Tab>
      ))}
    </Tabs.List>
  );
}
