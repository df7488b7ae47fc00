import type { ReactNode } from 'react';
import { useSession } from '../../api/session';
import { Page } from '../../ui/page';
import { PartLinks } from '../../ui/part-links';
import { Delivery } from './delivery';
import { Views } from './views';

const parts = [
  { path: '', title: 'Views', needs: 'data:read', component: Views },
  { path: 'delivery', title: 'Delivery', needs: 'video:read', component: Delivery },
] as const;

interface AudienceProps {
  readonly params: { readonly part?: string };
}

/** Who watched and how well it played, and what was sent. */
const AudienceScreen = ({ params }: AudienceProps): ReactNode => {
  const { permissions } = useSession();
  const allowed = parts.filter(({ needs }) => permissions.includes(needs));
  const shown = allowed.find(({ path }) => path === (params.part ?? '')) ?? allowed[0];
  const Part = shown?.component;
  return (
    <Page title="Audience">
      <PartLinks label="Parts of the audience" base="/audience" parts={allowed} shown={shown?.path ?? ''} />
      {Part && <Part />}
    </Page>
  );
};
export default AudienceScreen;
