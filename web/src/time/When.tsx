/** An instant as the reader chose to see instants, with the other ways in its title. */
import { createContext, type ReactNode, useContext, useMemo, useState } from "react";
import { useClock } from "./clock";
import { inMode, isForever, local, type TimeMode, utc } from "./format";

const MODES: TimeMode[] = ["relative", "local", "utc"];
const KEPT_AS = "mainspring-time";

type Choice = { mode: TimeMode; setMode: (mode: TimeMode) => void; next: () => void };
const Chosen = createContext<Choice>({ mode: "relative", setMode: () => {}, next: () => {} });

function kept(): TimeMode {
  const found = localStorage.getItem(KEPT_AS) as TimeMode | null;
  return found && MODES.includes(found) ? found : "relative";
}

export function TimeModeProvider({ children }: { children: ReactNode }) {
  const [mode, set] = useState<TimeMode>(kept);
  const choice = useMemo<Choice>(() => {
    const setMode = (wanted: TimeMode) => {
      localStorage.setItem(KEPT_AS, wanted);
      set(wanted);
    };
    return { mode, setMode, next: () => setMode(MODES[(MODES.indexOf(mode) + 1) % MODES.length] ?? "relative") };
  }, [mode]);
  return <Chosen value={choice}>{children}</Chosen>;
}

export const useTimeMode = () => useContext(Chosen);

export function When({ at, none = "–", mode }: { at: string | null | undefined; none?: string; mode?: TimeMode }) {
  const chosen = useTimeMode().mode;
  const text = useClock((nowMs) => (at ? inMode(at, mode ?? chosen, nowMs) : null));
  if (!at) return <span className="quiet">{none}</span>;
  if (isForever(at)) return <span>never</span>;
  return (
    <time dateTime={at} title={`${local(at)} local\n${utc(at)}`} className="nowrap tabular">
      {text}
    </time>
  );
}
