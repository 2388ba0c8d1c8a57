import { wireActor } from '../../caller.ts'
import { handler } from '../../handler.ts'

export const actor_GetActor = handler('actor_GetActor', async ({ caller }) => ({ actor: wireActor(caller) }))
