/** Follows plain links inside the page, and brings what they lead to when somebody is about to. */
import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { pathOf } from "../api/tenant";

const INTENT_MS = 50; // a pointer that only passes by asks for nothing

function linkOf(event: Event): HTMLAnchorElement | null {
  const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a.go[href^='/']") : null;
  return link && !link.target && !link.hasAttribute("download") ? link : null;
}

export function useLinks(): void {
  const router = useRouter();
  useEffect(() => {
    let timer: number | undefined;
    const follow = (event: MouseEvent) => {
      const link = linkOf(event);
      if (
        !link ||
        event.defaultPrevented ||
        event.button !== 0 ||
        event.ctrlKey ||
        event.metaKey ||
        event.shiftKey ||
        event.altKey
      )
        return;
      event.preventDefault();
      void router.navigate({ href: link.getAttribute("href") ?? "/" });
    };
    const prepare = (event: Event) => {
      window.clearTimeout(timer);
      const link = linkOf(event);
      if (link)
        timer = window.setTimeout(
          () => void router.preloadRoute({ to: pathOf(link.pathname) }).catch(() => {}),
          INTENT_MS,
        );
    };
    document.addEventListener("click", follow);
    document.addEventListener("pointerover", prepare);
    document.addEventListener("focusin", prepare);
    return () => {
      window.clearTimeout(timer);
      document.removeEventListener("click", follow);
      document.removeEventListener("pointerover", prepare);
      document.removeEventListener("focusin", prepare);
    };
  }, [router]);
}
