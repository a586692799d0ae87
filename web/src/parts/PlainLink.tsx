/**
 * A link as cheap as the browser's own, for lists that hold hundreds; the frame follows it without loading the page
 * again (`shell/links`).
 */
import type { ReactNode } from "react";
import { addressOf } from "../api/tenant";

type Props = {
  to: string;
  children: ReactNode /** As the text around it, underlined. */;
  plain?: boolean;
  strong?: boolean;
  className?: string;
  title?: string;
};

export function PlainLink({ to, children, plain, strong, className = "", title }: Props) {
  return (
    <a
      href={addressOf(to)}
      title={title}
      className={`go ${plain ? "go-plain" : ""} ${strong ? "go-strong" : ""} ${className}`}
    >
      {children}
    </a>
  );
}

export const endpointPath = (id: string): string => `/endpoints/${encodeURIComponent(id)}`;
export const runPath = (id: string): string => `/runs/${encodeURIComponent(id)}`;
export const workflowPath = (name: string): string => `/workflows/${encodeURIComponent(name)}`;
export const executionPath = (id: string): string => `/executions/${encodeURIComponent(id)}`;
