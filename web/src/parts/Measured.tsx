/** A box that gives what is drawn in it the box's width, from the first paint on and at each change of it. */
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";

type Props = { height: number; children: (width: number) => ReactNode };

/**
 * The width is read before the browser paints, so a chart is never shown with its axis outside of it.
 * An observer alone reports a frame later, and a browser that is busy or in the background draws no frames.
 */
export function Measured({ height, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setWidth(element.getBoundingClientRect().width);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={box} style={{ width: "100%", height }}>
      {width > 0 && children(width)}
    </div>
  );
}
