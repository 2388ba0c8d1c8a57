import { ActionError } from '@muster/actions'
import { memberText, parseLossless, stringify } from '@muster/actions/exact-json'
import { changedAt, evaluateValue, type Json } from '@muster/predicates'
import { isShownInLists, removeProperty, writeProperty } from '../../link/telemetry/device-properties.ts'
import { checkedSize } from '../../link/telemetry/ingest.ts'
import type { PropertyTotals } from '../../platform/limits/property-totals.ts'
import type { WriteBudgets } from '../../platform/limits/write-budgets.ts'
import { SYSTEM } from '../../platform/pipeline/caller.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'
import { type Locked, stepText } from './operation-rows.ts'
import type { Facts, PropertyStep } from './operation-state.ts'

/** Parts of the hub that a step on a property needs. */
export type WriteParts = { propertyTotals: PropertyTotals; writeBudgets: WriteBudgets }

/**
 * Does a step on a property, in the transaction that also stores that it is done. Resolves to the reason if the property cannot be
 * written. The history and the log name the hub as the actor; the log has the person who started the operation.
 */
export async function writeStep(
  transaction: CommandTransaction,
  parts: WriteParts,
  locked: Locked,
  stepIndex: number,
  step: PropertyStep,
  facts: Facts,
): Promise<string | undefined> {
  try {
    if (step.kind === 'RemoveDeviceProperty') await remove(transaction, locked, step.name)
    else {
      const text =
        step.kind === 'SetDeviceProperty'
          ? memberText(stepText(locked.stepsText, stepIndex), 'value')
          : await mutatedText(transaction, locked, step, facts)
      if (text !== undefined) await write(transaction, parts, locked, step, text)
    }
    return undefined
  } catch (error) {
    if (error instanceof ActionError) return error.message
    throw error
  }
}

async function write(
  { tx, events, changed }: CommandTransaction,
  { propertyTotals, writeBudgets }: WriteParts,
  { deviceId, projectId, organizationId }: Locked,
  { name, protected: isProtected }: Exclude<PropertyStep, { kind: 'RemoveDeviceProperty' }>,
  text: string,
): Promise<void> {
  const subject = { deviceId, projectId, organizationId }
  const sizeBytes = checkedSize(text)
  writeBudgets.take(subject, { kind: 'property', sizes: [sizeBytes], isByOtherCaller: true })
  await propertyTotals.check(tx, { subject, name, sizeBytes })
  const result = await writeProperty(tx, SYSTEM, { deviceId, name, text, protected: isProtected })
  if (result.result !== 'Set') throw new Error(`found ${result.result} without an expected version`)
  const data = { projectId, deviceId, propertyName: name }
  await events.emit('devices_PropertySet', data, { old: { value: result.before } })
  changed('properties', { deviceId })
  if (isShownInLists(name)) changed('devices', { deviceId })
}

async function remove(
  { tx, events, changed }: CommandTransaction,
  { deviceId, projectId }: Locked,
  name: string,
): Promise<void> {
  const before = await removeProperty(tx, SYSTEM, deviceId, name)
  if (before === undefined) return
  const data = { projectId, deviceId, propertyName: name }
  await events.emit('devices_PropertyRemoved', data, { old: { value: before } })
  changed('properties', { deviceId })
  if (isShownInLists(name)) changed('devices', { deviceId })
}

/** JSON text of a property after a mutation; undefined if it stays as it is. Numbers that are not changed keep their digits. */
async function mutatedText(
  { tx }: CommandTransaction,
  { deviceId }: Locked,
  { name, mutation }: Extract<PropertyStep, { kind: 'UpdateDeviceProperty' }>,
  facts: Facts,
): Promise<string | undefined> {
  const before = await tx
    .selectFrom('device_property')
    .where('device_id', '=', deviceId)
    .where('name', '=', name)
    .select('value')
    .forUpdate()
    .executeTakeFirst()
  if (before === undefined && mutation.mutation === 'Remove') return undefined
  const current = before?.value.parse() as Json | undefined
  let given: Json = null
  if (mutation.mutation !== 'Remove') {
    const result = evaluateValue(mutation.expr, { ...facts, current })
    if ('reason' in result)
      throw new ActionError('Invalid', `The value of the mutation is unknown: ${result.reason}.`)
    given = result.value
  }
  const value = before && (parseLossless(before.value.text) as Json)
  const changed = changedAt(value, mutation, given)
  if ('reason' in changed)
    throw new ActionError('Invalid', `The property "${name}" cannot be changed: ${changed.reason}.`)
  const text = stringify(changed.value)
  return before !== undefined && stringify(value) === text ? undefined : text
}
