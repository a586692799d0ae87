/** Do something on the server: say what came of it, and read again what it changed. */
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { asProblem } from "../api/client";

type Options<T> = { done?: string | ((result: T) => string); after?: (result: T) => void; quiet?: boolean };

export function useAct<Given, T>(act: (given: Given) => Promise<T>, options: Options<T> = {}) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSuccess: (result) => {
      const said = typeof options.done === "function" ? options.done(result) : options.done;
      if (said) notifications.show({ message: said, color: "green" });
      void client.invalidateQueries();
      options.after?.(result);
    },
    onError: (fault) => {
      if (options.quiet) return;
      const problem = asProblem(fault);
      notifications.show({ title: problem.title, message: problem.message, color: "red", autoClose: 10_000 });
    },
  });
}

/** One act over many, a few at a time; how many worked, and the first refusal. */
export async function overAll<T>(items: T[], act: (item: T) => Promise<unknown>): Promise<{ done: number; failed: number; first?: string }> {
  let done = 0;
  let failed = 0;
  let first: string | undefined;
  const waiting = [...items];
  const work = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      try {
        await act(item);
        done += 1;
      } catch (fault) {
        failed += 1;
        first ??= asProblem(fault).message;
      }
    }
  };
  await Promise.all(Array.from({ length: 4 }, work));
  return { done, failed, ...(first === undefined ? {} : { first }) };
}
