import { Type } from 'typebox';
import type { CallerRecord } from '../../domain/access/authenticate.js';
import { permissions } from '../../domain/access/permissions.js';
import { id } from '../schemas/response.js';
import type { Wire } from '../wire.js';

const { Object: Fields, Enum, String: Text } = Type;

export const CallerResponse = Fields(
  {
    access_token_name: Text({ description: 'Name of the access token, as the operator chose it' }),
    environment_id: id('ID of the environment that the token belongs to. The token sees only its resources'),
    environment_name: Text({ description: 'Name of the environment that the token belongs to' }),
    environment_type: Enum(['development', 'production'], {
      description: 'What the environment is meant for. The server treats both types the same',
    }),
    organization_id: id('ID of the organization, the same for all environments of a server'),
    organization_name: Text({ description: 'Name of the organization that runs the server' }),
    permissions: Type.Array(Enum(permissions), {
      description: 'What the token may do. A `write` permission does not include `read`',
    }),
  },
  { title: 'Caller', description: 'The access token of a request and its environment' },
);

export const serializeCaller = (caller: CallerRecord): Wire => ({
  access_token_name: caller.tokenName,
  environment_id: caller.environment.id,
  environment_name: caller.environment.name,
  environment_type: caller.environment.type,
  organization_id: caller.organization.id,
  organization_name: caller.organization.name,
  permissions: caller.permissions,
});
