/** What is wrong with a document, line by line. */
import { Alert, List } from "@mantine/core";
import { asProblem } from "../api/client";

const SHOWN = 20;

export function Faults({ fault, title }: { fault: unknown; title: string }) {
  const problem = asProblem(fault);
  const faults = problem.faults.length ? problem.faults.map((each) => each.detail) : [problem.message];
  return (
    <Alert color="red" variant="light" title={title} role="alert">
      <List size="sm">
        {faults.slice(0, SHOWN).map((each, place) => (
          <List.Item key={`${place}-${each}`} className="breaks">
            {each}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
