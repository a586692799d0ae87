/** Do something on the server: say what came of it, and read again what the page shows of it. */
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { asProblem } from "../api/client";

type Options<T> = {
  done?: string | ((result: T) => string);
  after?: (result: T) => void;
  quiet?: boolean /** It only reads: nothing on the page is old after it. */;
  onlyReads?: boolean;
};

const NEVER_OLD = new Set<unknown>(["simulations", "rehearsal", "bulk", "link"]);

/** Whether an act may have changed what a query read. A version of a workflow and the bytes of a body never change. */
export function mayChange({ queryKey: [of, what] }: { queryKey: readonly unknown[] }): boolean {
  return !NEVER_OLD.has(of) && !["graph", "diff", "bytes", "rehearsal"].includes(String(what));
}

export function useAct<Given, T>(act: (given: Given) => Promise<T>, options: Options<T> = {}) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSuccess: (result) => {
      const said = typeof options.done === "function" ? options.done(result) : options.done;
      if (said) notifications.show({ message: said, color: "green" });
      if (!options.onlyReads) void client.invalidateQueries({ predicate: mayChange });
      options.after?.(result);
    },
    onError: (fault) => {
      if (options.quiet) return;
      const problem = asProblem(fault);
      notifications.show({ title: problem.title, message: problem.message, color: "red", autoClose: 10_000 });
    },
  });
}
