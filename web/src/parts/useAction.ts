/** Do something on the server, report the result, and read again what it changed. */
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { asProblem } from "../api/client";
import { mayHaveChanged, takeWritten } from "../api/written";

type Options<T> = {
  done?: string | ((result: T) => string);
  after?: (result: T) => void;
  /** The caller shows the error itself. */
  quiet?: boolean;
  /** It only reads: nothing on the page is old after it. */
  onlyReads?: boolean;
};

export function useAction<Given, T>(act: (given: Given) => Promise<T>, options: Options<T> = {}) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSuccess: (result) => {
      const said = typeof options.done === "function" ? options.done(result) : options.done;
      if (said) notifications.show({ message: said, color: "green" });
      const written = takeWritten();
      if (!options.onlyReads)
        void client.invalidateQueries({ predicate: ({ queryKey }) => mayHaveChanged(written, queryKey) });
      options.after?.(result);
    },
    onError: (fault) => {
      if (options.quiet) return;
      const problem = asProblem(fault);
      notifications.show({ title: problem.title, message: problem.message, color: "red", autoClose: 10_000 });
    },
  });
}
