import type { Leaving } from "../shell/edits";
import { Confirm } from "./Confirm";

/** Asked before a form with unsaved changes is left. */
export function LeaveDialog({ leaving }: { leaving: Leaving }) {
  return (
    <Confirm
      opened={leaving.isAsking}
      onClose={leaving.stay}
      onConfirm={leaving.leave}
      danger
      title="Leave without saving?"
      cancel="Keep editing"
      verb="Discard changes"
    >
      Your changes in this form are not saved.
    </Confirm>
  );
}
