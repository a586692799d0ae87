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
