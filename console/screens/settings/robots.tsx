import type { ReactNode } from 'react';
import { usePermission } from '../../api/session';
import { type Directive, directives, type Vocabulary, vocabularies } from '../../api/settings';
import { countOf } from '../../lib/format';
import { TextArea, TextField } from '../../ui/field';
import { FormDialog } from '../../ui/form-dialog';
import { Page } from '../../ui/page';
import type { Column } from '../../ui/table';
import { idColumn, ListSection } from './list-section';

const vocabularyColumns: readonly Column<Vocabulary>[] = [
  { key: 'name', title: 'Name', cell: ({ name, id }) => name ?? id },
  { key: 'phrases', title: 'Phrases', cell: ({ phrases }) => <span>{phrases.slice(0, 8).join(', ')}</span> },
  { key: 'count', title: 'Number', isEnd: true, isWide: true, cell: ({ phrases }) => phrases.length },
];

const directiveColumns: readonly Column<Directive>[] = [
  { key: 'name', title: 'Name', cell: ({ name }) => name },
  {
    key: 'workflows',
    title: 'Workflows',
    cell: ({ workflows }) => workflows.map(({ workflow }) => workflow).join(', '),
  },
  { ...idColumn, isWide: true },
];

/** What works on assets by itself: words that speech recognition should know, and directives. */
const RobotSettings = (): ReactNode => {
  const mayWrite = usePermission('video:write');
  const mayWriteRobots = usePermission('robots:write');
  const mayReadRobots = usePermission('robots:read');
  return (
    <Page title="Vocabularies and directives" windowTitle="Directives">
      <ListSection
        title="Vocabularies"
        query={vocabularies.query}
        columns={vocabularyColumns}
        empty="A vocabulary has names and terms that speech recognition would spell differently."
        action={mayWrite && <AddVocabulary />}
        {...(mayWrite && {
          remove: {
            what: 'vocabulary',
            consequence: 'Subtitles that were generated with it stay as they are.',
            run: vocabularies.remove,
          },
        })}
      />
      {mayReadRobots && (
        <ListSection
          title="Directives"
          query={directives.query}
          columns={directiveColumns}
          empty="A directive runs workflows, such as summaries and chapters, on each asset that names it."
          action={mayWriteRobots && <AddDirective />}
          {...(mayWriteRobots && {
            remove: { what: 'directive', consequence: 'Its runs end, and no new ones begin.', run: directives.remove },
          })}
        />
      )}
    </Page>
  );
};
export default RobotSettings;

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

const AddVocabulary = (): ReactNode => (
  <FormDialog
    title="Add vocabulary"
    verb="Add"
    send={(values) =>
      vocabularies.create({ name: String(values.get('name')), phrases: linesOf(String(values.get('phrases'))) })
    }
    refresh={[vocabularies.query.queryKey]}
  >
    <TextField name="name" label="Name" required />
    <TextArea
      name="phrases"
      label="Phrases"
      rows={8}
      required
      hint={`One per line, at most ${countOf(1000, 'phrase')}.`}
    />
  </FormDialog>
);

const EXAMPLE = JSON.stringify(
  {
    name: 'Chapters',
    subject: { type: 'video.asset' },
    resources: [
      {
        reference_id: 'captions',
        type: 'video.asset.track',
        kind: 'caption',
        source: { via: 'mux_api', action: 'generate_subtitles' },
      },
    ],
    workflows: [{ reference_id: 'chapters', workflow: 'generate-chapters', inputs: ['captions'] }],
  },
  null,
  2,
);

const createDirective = async (values: FormData): Promise<Directive> => {
  let body: unknown;
  try {
    body = JSON.parse(String(values.get('directive')));
  } catch (error) {
    throw new Error(`This is not JSON: ${(error as Error).message}.`);
  }
  return directives.create(body);
};

const AddDirective = (): ReactNode => (
  <FormDialog title="Add directive" verb="Add" send={createDirective} refresh={[directives.query.queryKey]}>
    <TextArea
      name="directive"
      label="Directive"
      rows={16}
      defaultValue={EXAMPLE}
      spellCheck={false}
      hint="The JSON that POST /robots/v0/directives takes."
    />
  </FormDialog>
);
