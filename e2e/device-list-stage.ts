import type { Page } from 'playwright-core'
import { changeDatabase } from './hub-child.ts'
import { openStage, type Stage } from './people.ts'

/** Number of devices of `openDeviceList`. */
const DEVICES = 1_000
/** SQL for the random part of an id, derived from the number `i` of a device. */
const ID = `left(translate(md5(i::text), '0', 'z'), 22)`

/** A stage whose project has `DEVICES` devices, and the address of their list. */
export type DeviceList = AsyncDisposable & { stage: Stage; address: string }

/**
 * Opens a stage with `DEVICES` devices named `gateway-0001` and so on, the newest first. Each has the properties `version` and `floor`, and
 * every fifth is disconnected. The stage is closed on disposal.
 */
export async function openDeviceList(): Promise<DeviceList> {
  await using resources = new AsyncDisposableStack()
  const stage = resources.use(await openStage())
  await addDevices(stage, 1, DEVICES)
  await changeDatabase(
    stage.hub,
    `insert into device_property (device_id, name, value, value_json)
     select 'd_' || ${ID}, name, value::json, value
       from generate_series(1, ${DEVICES}) i,
            lateral (values ('version', to_jsonb('2.' || i % 20 || '.0')), ('floor', to_jsonb(i % 90))) as p (name, value)`,
  )
  const page = await stage.signedInPage()
  await page.getByRole('link', { name: 'First project' }).click()
  await firstRow(page).waitFor()
  const kept = resources.move()
  return { stage, address: page.url(), [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** Adds devices with these numbers. */
export async function addDevices({ hub }: Pick<Stage, 'hub'>, first: number, last: number): Promise<void> {
  await changeDatabase(
    hub,
    `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, name, first_seen, is_connected)
     select 'd_' || ${ID}, project_id, 'd_pk_' || ${ID}, sha256(i::text::bytea), 'gateway-' || lpad(i::text, 4, '0'),
            now() - i * interval '1 minute', i % 5 <> 0
       from project, generate_series(${first}, ${last}) i`,
  )
}

/** Link of the newest device in the list. The summary above the list links the same device. */
export const firstRow = (page: Page) =>
  page.getByRole('table', { name: 'Devices' }).getByRole('link', { name: 'gateway-0001', exact: true })

/** Names of the devices whose rows are rendered. */
export async function namesOn(page: Page): Promise<string[]> {
  await page.locator('tr[data-index] .name').first().waitFor()
  return page.locator('tr[data-index] .name').allInnerTexts()
}

/** Number in the name of a device. */
export function numberOf(name: string): number {
  return Number(name.replace('gateway-', ''))
}
