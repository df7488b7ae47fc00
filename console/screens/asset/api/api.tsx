import type { ReactNode } from 'react';
import { type Asset, assetPath } from '../../../api/assets';
import { ApiCalls } from './api-calls';

const Api = ({ asset }: { readonly asset: Asset }): ReactNode => (
  <ApiCalls what="asset" path={assetPath(asset.id)} json={asset} />
);
export default Api;
