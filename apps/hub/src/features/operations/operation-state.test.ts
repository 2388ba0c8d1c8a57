import type { DeviceOperationStep } from '@muster/actions'
import { evaluate, type Json, type JsonExpr } from '@muster/predicates'
import fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import {
  cancelled,
  claimed,
  deadlineOf,
  hasEnded,
  held,
  isCurrent,
  LOOK_AGAIN_MS,
  newOperation,
  type Operation,
  released,
  reported,
  type Steps,
  started,
  todo,
  transitionsBetween,
  waitingText,
  workKindOf,
  written,
} from './operation-state.ts'

const flag: JsonExpr = {
  kind: 'Equals',
  left: { kind: 'NamedValue', name: 'flag' },
  right: { kind: 'Literal', value: true },
}
const broken: JsonExpr = {
  kind: 'Equals',
  left: { kind: 'NamedValue', name: 'broken' },
  right: { kind: 'Literal', value: true },
}

const when = fc.option(fc.constantFrom(flag, broken), { nil: undefined })
const timeoutSecs = fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined })
const step: fc.Arbitrary<DeviceOperationStep> = fc.oneof(
  fc.record({
    kind: fc.constant('SetDeviceProperty' as const),
    when,
    name: fc.constant('flag'),
    value: fc.boolean(),
    protected: fc.constant(undefined),
  }),
  fc.record({
    kind: fc.constant('DeviceCommand' as const),
    when,
    command: fc.constant('a'),
    input: fc.constant(null),
    timeoutSecs,
  }),
  fc.record({
    kind: fc.constant('DeviceTask' as const),
    when,
    task: fc.constant('b'),
    input: fc.constant(null),
    timeoutSecs,
  }),
  fc.record({
    kind: fc.constant('WaitForDeviceProperty' as const),
    when,
    predicate: fc.constant(flag),
    failWhen: fc.option(fc.constant(broken), { nil: undefined }),
    timeoutSecs,
  }),
)

/** What happens to an operation, in any order. */
type Happening =
  | { of: 'start' | 'cancel' | 'restore' | 'release' | 'look' | 'dead node' }
  | { of: 'clock'; ms: number }
  | { of: 'write'; name: 'flag' | 'broken'; value: boolean | undefined }
  | { of: 'claim'; session: 'a' | 'b'; kinds: ('DeviceCommand' | 'DeviceTask')[] }
  | { of: 'report'; claim: number; stepBack: number; status: 'Running' | 'Succeeded' | 'Failed' }

const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ of: fc.constantFrom('start' as const, 'look' as const, 'look' as const) }),
  },
  { weight: 1, arbitrary: fc.record({ of: fc.constantFrom('cancel' as const, 'restore' as const) }) },
  { weight: 2, arbitrary: fc.record({ of: fc.constantFrom('release' as const, 'dead node' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      of: fc.constant('clock' as const),
      ms: fc.integer({ min: -30_000, max: 60_000 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      of: fc.constant('write' as const),
      name: fc.constantFrom('flag' as const, 'broken' as const),
      value: fc.constantFrom(true, false, undefined),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      of: fc.constant('claim' as const),
      session: fc.constantFrom('a' as const, 'b' as const),
      kinds: fc.constantFrom(
        ['DeviceCommand'] as 'DeviceCommand'[],
        ['DeviceCommand', 'DeviceTask'] as ('DeviceCommand' | 'DeviceTask')[],
      ),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      of: fc.constant('report' as const),
      claim: fc.integer({ min: 0, max: 4 }),
      stepBack: fc.constantFrom(0, 0, 0, 1),
      status: fc.constantFrom(
        'Running' as const,
        'Succeeded' as const,
        'Succeeded' as const,
        'Failed' as const,
      ),
    }),
  },
)

/** Plays a history and checks after each step what must always hold. Returns the operation at its end. */
function play(steps: Steps, happenings: readonly Happening[]): Operation {
  let operation = newOperation(steps.length)
  let nowMs = 1_000_000
  const properties = new Map<string, Json>()
  const claims: { claimId: string; stepIndex: number }[] = []
  const finals = new Map<number, string>()
  const facts = () => ({ valueOf: (name: string) => properties.get(name), nowMs })

  const become = (next: Operation): void => {
    const before = operation
    operation = next
    if (hasEnded(before)) expect(next).toBe(before)
    expect(next.stepIndex).toBeGreaterThanOrEqual(before.stepIndex)
    expect(next.stepIndex).toBeLessThanOrEqual(steps.length)
    // Statuses that are final never change, and steps run one after the other.
    for (const [index, { status, startedAtMs, completedAtMs }] of next.steps.entries()) {
      const final = finals.get(index)
      if (final !== undefined) expect(status).toBe(final)
      if (!['Pending', 'Running'].includes(status)) finals.set(index, status)
      if (index < next.stepIndex) expect(['Succeeded', 'Skipped']).toContain(status)
      if (index > next.stepIndex) expect(status).toBe('Pending')
      if (status === 'Running') expect(startedAtMs).toBeDefined()
      if (finals.has(index)) expect(completedAtMs).toBeDefined()
    }
    if (next.claim) expect(workKindOf(next, steps)).toBeDefined()
    if (next.status === 'Succeeded') expect(next.stepIndex).toBe(steps.length)
    if (['Failed', 'TimedOut', 'Cancelled'].includes(next.status)) expect(next.lastError).toBeTruthy()
    expect(hasEnded(next)).toBe(next.completedAtMs !== undefined)
    // Whatever has not ended says what it waits for.
    expect(waitingText(next, steps, true) === undefined).toBe(hasEnded(next))
    const changes = transitionsBetween(before, next)
    expect(
      changes.filter(({ stepIndex, status }) => stepIndex === undefined && status === next.status),
    ).toHaveLength(before.status === next.status ? 0 : 1)
  }

  /** Looks as the driver does, until there is nothing to do. */
  const look = (): void => {
    for (let turn = 0; ; turn++) {
      expect(turn).toBeLessThanOrEqual(2 * steps.length + 2)
      const next = todo(operation, steps, facts())
      if (next.kind === 'Wait') {
        const deadlineMs = deadlineOf(operation, steps)
        if (deadlineMs !== undefined) {
          expect(deadlineMs).toBeGreaterThan(nowMs)
          expect(next.dueAtMs).toBeLessThanOrEqual(deadlineMs)
        }
        if (operation.status === 'Running' && !operation.isHeld) {
          expect(next.dueAtMs).toBeDefined()
          if (workKindOf(operation, steps) === undefined)
            expect(next.dueAtMs).toBeLessThanOrEqual(nowMs + LOOK_AGAIN_MS)
        }
        return
      }
      if (next.kind === 'Write') {
        if (next.step.kind === 'SetDeviceProperty') properties.set(next.step.name, next.step.value as Json)
        become(written(operation, nowMs))
      } else become(next.operation)
    }
  }

  for (const one of happenings) {
    switch (one.of) {
      case 'start':
        become(started(operation, nowMs))
        break
      case 'cancel':
        become(cancelled(operation, nowMs, 'The operation was cancelled.'))
        break
      case 'restore':
        become(held(operation))
        break
      case 'release':
        become(released(operation, nowMs))
        break
      case 'look':
        look()
        break
      case 'dead node':
        // The transaction of a node that dies leaves nothing.
        todo(operation, steps, facts())
        break
      case 'clock':
        nowMs += one.ms
        break
      case 'write':
        if (one.value === undefined) properties.delete(one.name)
        else properties.set(one.name, one.value)
        break
      case 'claim': {
        const offered = workKindOf(operation, steps)
        const claim = { claimId: `claim ${claims.length}`, session: one.session }
        const isWanted = offered !== undefined && (one.kinds as string[]).includes(offered)
        const after = isWanted ? claimed(operation, steps, claim, nowMs) : undefined
        if (!after) break
        // Nothing is offered by an operation that is held, has not started or has ended, and never twice to one session.
        expect(operation.status).toBe('Running')
        expect(operation.isHeld).toBe(false)
        expect(operation.claim?.session).not.toBe(one.session)
        claims.push({ claimId: claim.claimId, stepIndex: operation.stepIndex })
        become(after)
        break
      }
      case 'report': {
        const claim = claims.at(-1 - one.claim)
        if (!claim) break
        const report = {
          ...claim,
          stepIndex: Math.max(0, claim.stepIndex - one.stepBack),
          status: one.status,
        }
        const isLast = claim.claimId === operation.claim?.claimId && report.stepIndex === operation.stepIndex
        expect(isCurrent(operation, report)).toBe(isLast && operation.status === 'Running')
        const before = operation
        become(reported(operation, report, nowMs))
        if (!isLast) expect(operation).toBe(before)
        // A repeated report changes nothing.
        const once = operation
        become(reported(operation, report, nowMs))
        expect(operation).toBe(once)
        break
      }
    }
  }
  // Once nothing disturbs it any more, it ends, or it waits for a person or for a property without a time-out.
  for (let turn = 0; turn < 2 * steps.length + 2 && !hasEnded(operation); turn++) {
    look()
    const deadlineMs = deadlineOf(operation, steps)
    if (deadlineMs === undefined) break
    nowMs = deadlineMs
    look()
  }
  if (!hasEnded(operation)) {
    const current = steps[operation.stepIndex]
    const waitsForPerson = operation.status === 'Pending' || operation.isHeld
    const waitsForProperty = current?.kind === 'WaitForDeviceProperty' && current.timeoutSecs === undefined
    expect(waitsForPerson || waitsForProperty).toBe(true)
    if (waitsForProperty && !waitsForPerson) expect(evaluate(current.predicate, facts())).not.toBe(true)
  }
  return operation
}

describe('an operation', () => {
  it('keeps its rules in 10,000 random histories', () => {
    const seen = new Set<string>()
    const history = fc.property(
      fc.array(step, { minLength: 1, maxLength: 6 }),
      fc.array(happening, { maxLength: 60 }),
      (steps, happenings) => {
        seen.add(play(steps, [{ of: 'start' }, { of: 'look' }, ...happenings]).status)
        play(steps, happenings)
      },
    )
    fc.assert(history, { numRuns: 5_000, seed: inject('fuzzSeed') })
    expect(seen).toEqual(new Set(['Succeeded', 'Failed', 'TimedOut', 'Cancelled', 'Running']))
  }, 60_000)

  it('fails at once with the value that a condition of failure has found', () => {
    const steps: Steps = [
      {
        kind: 'WaitForDeviceProperty',
        when: undefined,
        predicate: flag,
        failWhen: broken,
        timeoutSecs: undefined,
      },
    ]
    let operation = started(newOperation(1), 0)
    const facts = { valueOf: (name: string) => (name === 'broken' ? true : undefined), nowMs: 5 }
    for (;;) {
      const next = todo(operation, steps, facts)
      if (next.kind !== 'Continue') break
      operation = next.operation
    }
    expect(operation).toMatchObject({ status: 'Failed', lastError: 'Found broken = true: broken is true' })
  })
})
