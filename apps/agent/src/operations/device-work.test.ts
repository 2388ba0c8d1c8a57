import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleepFor } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { runAgent } from '../agent.ts'
import { type AgentConfig, configFromOptions, parseConfig } from '../config.ts'
import { createLog } from '../log.ts'
import { FakeHub } from '../testing/fake-hub.ts'
import { temporaryFolder } from '../testing/temporary-folder.ts'
import { readCommands } from './device-commands.ts'
import { WorkLedger } from './work-ledger.ts'

const TOKEN = `deployment_${'1'.repeat(66)}`
const OPERATION = 'd_op_z7L73xZdkkMgwbAmTVcyXu'
const OTHER = 'd_op_H3CwhLpqjTTt1An8PR7aCw'

type Report = {
  deviceOperationId: string
  stepIndex: number
  claimId: string
  report: Record<string, unknown>
}

/** A folder with commands, a ledger and a program that counts its runs in the file `runs`. */
async function device() {
  const folder = await temporaryFolder()
  const { path } = folder
  const commands = join(path, 'commands')
  await mkdir(commands)
  const command = (name: string, script: string) =>
    writeFile(
      join(commands, `${name}.toml`),
      `[command]\nname = "${name}"\n[exec]\nhandler = ["sh", "-c", ${JSON.stringify(`echo ${name} >> ${path}/runs; ${script}`)}]\n`,
    )
  return {
    path,
    command,
    runs: async () => (await readFile(join(path, 'runs'), 'utf8').catch(() => '')).trim().split('\n'),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
    config: (hubUrl: string, more: Partial<AgentConfig> = {}): AgentConfig => ({
      ...configFromOptions({ hub: hubUrl, token: TOKEN, data: join(path, 'data') }),
      publishSystemInfo: false,
      commandsFolder: commands,
      operations: { pollIntervalSecs: 1, tasks: [] },
      ...more,
    }),
  }
}

/** Runs an agent on real clocks. */
function start(config: AgentConfig) {
  const stop = new AbortController()
  const lines: string[] = []
  const running = runAgent({
    ...config,
    signal: stop.signal,
    log: createLog({ level: 'debug', write: line => lines.push(line) }),
    clock: {
      elapsed: () => performance.now(),
      sleep: (ms, signal) => sleepFor(Math.min(ms, 50), undefined, signal && { signal }),
    },
  })
  return {
    lines,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}

/** Hands a step out, again with each claim until a result is reported. */
function offer(
  hub: FakeHub,
  step: object,
  { deviceOperationId = OPERATION, stepIndex = 0, more = '' } = {},
): void {
  let claims = 0
  hub.refuse = ({ name }) => {
    if (name === 'devices_ClaimOperationWork') {
      const isDone = reportsOf(hub).some(
        one => one.deviceOperationId === deviceOperationId && one.report.status !== 'Running',
      )
      const item = `{"deviceOperationId":"${deviceOperationId}","claimId":"claim ${++claims}","operationName":"x","stepIndex":${stepIndex},${more}"step":${JSON.stringify(step)}}`
      hub.answers.devices_ClaimOperationWork = `{"work":[${isDone ? '' : item}]}`
    }
    return undefined
  }
}

const reportsOf = (hub: FakeHub): Report[] =>
  hub.callsOf('devices_ReportOperationStep').map(({ input }) => input as unknown as Report)

const command = (name: string, more: object = {}) => ({
  kind: 'DeviceCommand',
  command: name,
  input: null,
  ...more,
})

describe('work of operations', () => {
  it('publishes the commands, runs one with its input, and reports its output', async () => {
    await using hub = await FakeHub.start()
    await using machine = await device()
    await machine.command('echo', `read line; echo '{"type":"Output","data":'"$line"'}'; echo noise`)
    offer(hub, { ...command('echo'), input: { big: 1 } })
    await using _agent = start(machine.config(hub.url))
    await expect.poll(() => reportsOf(hub)).toHaveLength(1)
    expect(hub.callsOf('devices_SetProperty')[0]!.input).toEqual({
      deviceId: 'd_z7L73xZdkkMgwbAmTVcyXu',
      name: 'dev.nexigon.commands',
      value: { commands: [{ name: 'echo' }] },
    })
    expect(hub.callsOf('devices_ClaimOperationWork')[0]!.inputText).toBe(
      '{"deviceId":"d_z7L73xZdkkMgwbAmTVcyXu","limit":1,"kinds":["DeviceCommand"]}',
    )
    expect(reportsOf(hub)[0]).toEqual({
      deviceId: 'd_z7L73xZdkkMgwbAmTVcyXu',
      deviceOperationId: OPERATION,
      stepIndex: 0,
      claimId: 'claim 1',
      report: { status: 'Succeeded', output: { big: 1 } },
    })
  })

  it('reports failures with their reason: status, time-out, a command that it does not know', async () => {
    await using machine = await device()
    await machine.command('fail', 'echo disk full >&2; exit 3')
    await machine.command('hang', 'sleep 60')
    const errors: unknown[] = []
    for (const [at, step] of [
      command('fail'),
      command('hang', { timeoutSecs: 1 }),
      command('none'),
    ].entries()) {
      await using hub = await FakeHub.start()
      offer(hub, step, { stepIndex: at })
      await using _agent = start({ ...machine.config(hub.url) })
      await expect.poll(() => reportsOf(hub), { timeout: 10_000 }).toHaveLength(1)
      errors.push(reportsOf(hub)[0]!.report)
    }
    expect(errors).toEqual([
      { status: 'Failed', error: 'ended with status 3: disk full' },
      { status: 'Failed', error: 'not done within 1 s' },
      { status: 'Failed', error: 'This device knows no command none.' },
    ])
  })

  it('sends a result again under a new claim, without running the step twice', async () => {
    await using hub = await FakeHub.start()
    await using machine = await device()
    await machine.command('once', 'true')
    offer(hub, command('once'))
    // The connection breaks before the answer to the first report.
    const refuse = hub.refuse
    let reports = 0
    hub.refuse = call => {
      if (call.name === 'devices_ReportOperationStep' && ++reports === 1) {
        hub.calls.pop()
        hub.crash()
      }
      return refuse(call)
    }
    await using _agent = start(machine.config(hub.url))
    await expect.poll(() => reportsOf(hub), { timeout: 20_000 }).toHaveLength(1)
    expect(reportsOf(hub)[0]!.report).toEqual({ status: 'Succeeded' })
    expect(await machine.runs()).toEqual(['once'])
  })

  it('does not run a command again that a power cut has interrupted', async () => {
    await using hub = await FakeHub.start()
    await using machine = await device()
    await machine.command('once', 'true')
    const ledger = new WorkLedger(join(machine.path, 'data'), hub.url)
    expect(await ledger.begin({ deviceOperationId: OPERATION, stepIndex: 0 })).toBe(true)
    offer(hub, command('once'))
    await using _agent = start(machine.config(hub.url))
    await expect.poll(() => reportsOf(hub)).toHaveLength(1)
    expect(reportsOf(hub)[0]!.report).toEqual({
      status: 'Failed',
      error: 'The agent or the device was restarted while the step ran. It is not run a second time.',
    })
    expect(await machine.runs()).toEqual([''])
  })

  it('reports checkpoints of a task, and goes on from the last one after a restart', async () => {
    await using hub = await FakeHub.start()
    await using machine = await device()
    const script = join(machine.path, 'copy.sh')
    await writeFile(
      script,
      `read line; echo "$line" >> ${machine.path}/inputs
case "$line" in
  *'"part":2'*) echo '{"type":"Output","data":"all"}' ;;
  *) echo '{"type":"Checkpoint","data":{"part":2}}'; sleep 60 ;;
esac\n`,
    )
    const tasks = [{ name: 'copy', handler: ['sh', script], isResumable: true }]
    const config = machine.config(hub.url, { operations: { pollIntervalSecs: 1, tasks } })
    const step = { kind: 'DeviceTask', task: 'copy', input: 7 }
    offer(hub, step)
    {
      await using _agent = start(config)
      await expect.poll(() => reportsOf(hub), { timeout: 10_000 }).not.toHaveLength(0)
      expect(reportsOf(hub)[0]!.report).toEqual({ status: 'Running', checkpoint: { part: 2 } })
    }
    await using _agent = start(config)
    await expect
      .poll(() => reportsOf(hub).at(-1)!.report, { timeout: 10_000 })
      .toEqual({
        status: 'Succeeded',
        output: 'all',
      })
    const inputs = (await readFile(join(machine.path, 'inputs'), 'utf8')).trim().split('\n')
    expect(inputs.map(line => JSON.parse(line) as unknown)).toEqual([
      { deviceOperationId: OPERATION, stepIndex: 0, input: 7 },
      { deviceOperationId: OPERATION, stepIndex: 0, input: 7, checkpoint: { part: 2 } },
    ])
  })

  it('stops a program that the hub no longer waits for, and does other work', async () => {
    await using hub = await FakeHub.start()
    await using machine = await device()
    const tasks = [
      {
        name: 'wait',
        handler: ['sh', '-c', `echo '{"type":"Checkpoint","data":1}'; exec sleep 60`],
        isResumable: false,
      },
    ]
    await machine.command('next', 'true')
    offer(hub, { kind: 'DeviceTask', task: 'wait', input: null })
    hub.answers.devices_ReportOperationStep = '{"isSuperseded":true}'
    await using agent = start(machine.config(hub.url, { operations: { pollIntervalSecs: 1, tasks } }))
    await expect
      .poll(() => agent.lines.join(''), { timeout: 10_000 })
      .toContain('no longer waits for the step')
    offer(hub, command('next'), { deviceOperationId: OTHER })
    await expect
      .poll(() => reportsOf(hub).at(-1), { timeout: 10_000 })
      .toMatchObject({
        deviceOperationId: OTHER,
        report: { status: 'Succeeded' },
      })
  })

  it('does not poll unless the configuration says so', async () => {
    const base = `hub-url = "https://hub.example.com"\ntoken = "${TOKEN}"\nfingerprint-script = "f"\n`
    const parse = (text: string) => parseConfig(base + text, '/etc/fleet/agent.toml')
    expect(parse('[commands]\nenabled = false\n[operations]\nenabled = false')).not.toHaveProperty(
      'operations',
    )
    expect(parse('[commands]\nenabled = true\n[operations]\nenabled = true')).toMatchObject({
      commandsFolder: '/etc/nexigon/agent/commands',
      operations: { pollIntervalSecs: 60, tasks: [] },
    })
    const tasks =
      '[commands]\nenabled = true\ndirectory = "cmd"\n[operations]\nenabled = true\npoll-interval-secs = 5\n[[operations.tasks]]\nname = "copy"\nhandler = ["/bin/copy", "-v"]\nresumable = true'
    expect(parse(tasks)).toMatchObject({
      commandsFolder: '/etc/fleet/cmd',
      operations: {
        pollIntervalSecs: 5,
        tasks: [{ name: 'copy', handler: ['/bin/copy', '-v'], isResumable: true }],
      },
    })
    expect(() =>
      parse('[operations]\nenabled = true\n[[operations.tasks]]\nname = "a b"\nhandler = ["x"]'),
    ).toThrow('operations.tasks[0].name: found "a b", expected 1 to 128 letters')
  })

  it('leaves commands with mistakes out', async () => {
    await using machine = await device()
    await machine.command('good', 'true')
    await writeFile(
      join(machine.path, 'commands', 'bad.toml'),
      '[command]\nname = "b d"\n[exec]\nhandler = ["x"]',
    )
    await writeFile(join(machine.path, 'commands', 'broken.toml'), 'x =')
    const lines: string[] = []
    const log = createLog({ level: 'warn', write: line => lines.push(line) })
    expect((await readCommands(join(machine.path, 'commands'), log)).map(({ name }) => name)).toEqual([
      'good',
    ])
    expect(lines).toHaveLength(2)
  })

  it('keeps a bounded number of steps, without the steps that began last', async () => {
    await using machine = await device()
    const data = join(machine.path, 'ledger')
    const ledger = new WorkLedger(data, 'https://hub.example.com')
    for (let stepIndex = 0; stepIndex < 1_010; stepIndex++) {
      expect(await ledger.begin({ deviceOperationId: OPERATION, stepIndex })).toBe(true)
    }
    const [hub] = await readdir(join(data, 'operations'))
    expect((await readdir(join(data, 'operations', hub!))).length).toBeLessThanOrEqual(1_001)
    expect(await ledger.begin({ deviceOperationId: OPERATION, stepIndex: 1_009 })).toBe(false)
  })
})
