import { randomBytes } from 'node:crypto'
import { createClient, type Invoke } from '@muster/actions'
import { connectDevice } from '@muster/testkit/device'
import {
  countRefusal,
  type HostileKind,
  type HostileRun,
  type HostileTarget,
  untilStopped,
} from './hostile-kind.ts'

type Attack = HostileTarget & { run: HostileRun; isOver: () => boolean }

/** Calls of a person in flight. */
const PARALLEL = 8
/** Size of the metadata of a version, in bytes. */
const METADATA_BYTES = 60 * 1024

/** Attacks by commands, each of which leaves rows. */
export const COMMAND_KINDS: HostileKind[] = [
  {
    name: 'runs refused commands as a device',
    limit: 'device-refused-commands',
    start: untilStopped(async attack => {
      await using device = await connectDevice({ url: attack.url, token: attack.deploymentToken })
      await repeat(attack, () => refusedCommand(attack, device.invoke as Invoke))
    }),
  },
  {
    name: 'runs refused commands in the name of another organization',
    limit: 'person-refused-commands',
    start: untilStopped(attack => repeat(attack, () => refusedCommand(attack, asPerson(attack)))),
  },
  {
    name: 'creates versions with 60 KiB of metadata',
    start: untilStopped(attack => {
      const invoke = asPerson(attack)
      return repeat(attack, async () => {
        const note = randomBytes((METADATA_BYTES * 3) / 4).toString('base64')
        await invoke('repositories_CreateVersion', { packageId: attack.packageId, metadata: { note } })
        attack.run.acceptedBytes += note.length
      })
    }),
  },
]

function asPerson({ url, userToken }: Attack): Invoke {
  return createClient({ baseUrl: url, headers: { authorization: `Bearer ${userToken}` } })
}

async function refusedCommand({ foreignOrganizationId }: Attack, invoke: Invoke): Promise<void> {
  await invoke('organizations_SetName', { organizationId: foreignOrganizationId, name: 'Not permitted' })
}

/** Runs a call again and again on several loops. */
async function repeat({ run, isOver }: Attack, call: () => Promise<void>): Promise<void> {
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      while (!isOver()) {
        try {
          await call()
          run.accepted++
        } catch (error) {
          // Keeps the message of a limit rather than the first refusal, which only says that a permission is missing.
          if (String(error).includes('Limit ')) run.refusal = String(error).slice(0, 250)
          await countRefusal(run, error)
        }
      }
    }),
  )
}
