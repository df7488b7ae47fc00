import { useMutation } from '@tanstack/react-query';
import { queryClient } from '../api/query-client';
import { notify, notifyError } from './toast';

interface ActionOptions<T, Input> {
  /** What is said when it is done. */
  readonly done?: string | ((result: T) => string);
  /** Keys of the queries that are loaded again. */
  readonly refresh?: readonly (readonly unknown[])[];
  /** Called before the queries are loaded again, and before `done` is shown. */
  readonly onDone?: (result: T, input: Input) => void;
  /** Called when it failed, before that is shown. */
  readonly onFailed?: (input: Input) => void;
  /** Failures are shown elsewhere, such as in the form. */
  readonly isSilent?: boolean;
}

/**
 * A change on the server that a person asks for: says when it is done or why it failed, and loads
 * again what it changed.
 */
export const useAction = <Input, T>(change: (input: Input) => Promise<T>, options: ActionOptions<T, Input> = {}) =>
  useMutation<T, Error, Input>({
    mutationFn: change,
    onSuccess: (result, input) => {
      const { done, onDone } = options;
      onDone?.(result, input);
      if (done !== undefined) notify(typeof done === 'function' ? done(result) : done);
    },
    onError: (error, input) => {
      options.onFailed?.(input);
      if (!options.isSilent) notifyError(error);
    },
    onSettled: () =>
      Promise.all(
        (options.refresh ?? []).map((queryKey) => queryClient.invalidateQueries({ queryKey: [...queryKey] })),
      ),
  });
