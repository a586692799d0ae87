/** A long list draws only the rows around what is in sight: thousands scroll as smoothly as fifty. */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

const ALL_MAX = 60; // so many are drawn as they are; to leave some out would save nothing
const AROUND = 12; // rows drawn beyond each edge of the screen
const FIRST = 15; // drawn at once; the rest follows without holding up a key or a click
const ROW_PX = 46; // until rows are measured
const NEAR = 15; // rows before the end at which the next page is asked for

export type Seen = { from: number; to: number; above: number; below: number; reveal: (place: number) => void };

/**
 * Which of `count` rows of the table body to draw, and how much room the others take above and below. `more` brings
 * the next page.
 */
export function useWindow(count: number, body: RefObject<HTMLElement | null>, more?: () => void): Seen {
  const [range, setRange] = useState({ from: 0, to: FIRST });
  const rowPx = useRef(ROW_PX);
  const isSmall = count <= ALL_MAX;
  const look = useCallback(() => {
    const there = body.current;
    if (!there) return;
    const rows = there.querySelectorAll<HTMLElement>("[data-row]");
    const [first, last] = [rows[0], rows[rows.length - 1]];
    if (first && last)
      rowPx.current = Math.max(
        12,
        (last.getBoundingClientRect().bottom - first.getBoundingClientRect().top) / rows.length,
      );
    const top = there.getBoundingClientRect().top;
    const end = Math.ceil((window.innerHeight - top) / rowPx.current);
    const from = isSmall ? 0 : Math.max(0, Math.min(count - 1, Math.floor(-top / rowPx.current) - AROUND));
    const to = isSmall ? count : Math.max(from + FIRST, Math.min(count, end + AROUND));
    setRange((before) => (before.from === from && before.to === to ? before : { from, to }));
    if (window.scrollY > 0 && end > count - NEAR) more?.();
  }, [body, count, isSmall, more]);
  useEffect(() => {
    let frame = 0;
    const soon = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(look);
    };
    soon();
    window.addEventListener("scroll", soon, { passive: true });
    window.addEventListener("resize", soon);
    return () => {
      cancelAnimationFrame(frame);
      window.removeEventListener("scroll", soon);
      window.removeEventListener("resize", soon);
    };
  }, [look]);
  useLayoutEffect(() => {
    if (range.from >= count) look();
  }, [count, look, range.from]); // the list became shorter than where we are
  const from = isSmall ? 0 : Math.min(range.from, Math.max(0, count - 1));
  const to = Math.min(count, Math.max(range.to, from + 1));
  const reveal = useCallback(
    (place: number) => {
      const row = body.current?.querySelector(`[data-row="${place}"]`);
      if (row) row.scrollIntoView({ block: "nearest" });
      else if (body.current)
        window.scrollTo({
          top:
            window.scrollY + body.current.getBoundingClientRect().top + place * rowPx.current - window.innerHeight / 2,
        });
    },
    [body],
  );
  return { from, to, above: from * rowPx.current, below: (count - to) * rowPx.current, reveal };
}
