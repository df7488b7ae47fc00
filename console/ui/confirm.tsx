import { type ReactNode, Suspense, useSyncExternalStore } from 'react';
import { lazy } from '../lib/lazy';
import { createStore } from './store';

interface Question {
  /** A question, such as "Delete 3 assets?" */
  readonly title: string;
  /** What follows from it. */
  readonly text: string;
  /** The verb of the title. */
  readonly action: string;
  /** The other button; `Cancel` unless told. */
  readonly rejection?: string;
  /** Of the button; `danger` unless told. */
  readonly look?: 'primary' | 'danger';
  /** Something that can be chosen with it; nobody has chosen it at first. */
  readonly choice?: { readonly label: string; readonly onChange: (isChosen: boolean) => void };
}

export interface Asked extends Question {
  readonly response: (isConfirmed: boolean) => void;
}

const asked = createStore<Asked | undefined>(undefined);

/** Asks before something that can't be undone or may not be meant. */
export const confirm = (question: Question): Promise<boolean> =>
  new Promise((resolve) => {
    asked.get()?.response(false);
    asked.set({
      ...question,
      response: (isConfirmed) => {
        asked.set(undefined);
        resolve(isConfirmed);
      },
    });
  });

const QuestionDialog = lazy(() => import('./question-dialog'));

/** Displays the question of `confirm`: once, in the app. */
export const ConfirmDialog = (): ReactNode => {
  const question = useSyncExternalStore(asked.subscribe, asked.get);
  if (!question) return null;
  return (
    <Suspense>
      <QuestionDialog question={question} />
    </Suspense>
  );
};
