import type { ReactNode } from 'react';
import { usePermission } from '../../api/session';
import { CodeBlock } from '../../ui/copy';
import { EmptyState } from '../../ui/empty-state';
import { DropZone } from '../../uploads/drop-zone';

const command = (): string => `curl ${location.origin}/video/v1/assets \\
  -u "$TOKEN_ID:$TOKEN_SECRET" \\
  -H 'Content-Type: application/json' \\
  -d '{
    "inputs": [{ "url": "https://example.com/video.mp4" }],
    "playback_policies": ["public"]
  }'`;

/** The list when there is nothing in it: both ways to the first asset. */
export const FirstAsset = (): ReactNode => {
  const mayWrite = usePermission('video:write');
  return (
    <EmptyState title="No assets yet">
      {mayWrite && <DropZone />}
      <p>{mayWrite ? 'Or create one with the API:' : 'Create one with the API:'}</p>
      <CodeBlock text={command()} what="the command" />
    </EmptyState>
  );
};
