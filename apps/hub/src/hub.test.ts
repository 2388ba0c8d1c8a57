import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposable, readFile, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ask, capturedLog, connectDevice, fakeS3, mailServer, testHub, until } from '@muster/testkit'
import { expect, it } from 'vitest'
import { startupBanner } from './startup/startup-banner.ts'

it('shows a connected device with its properties and events', async () => {
  await using hub = await testHub()
  const { owner, projectId, token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  await until('the device shows', async () => {
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    return devices[0]?.isConnected && devices[0].deviceId === device.deviceId
  })
  const { deviceId } = device
  expect(await device.invoke('devices_SetProperty', { deviceId, name: 'a.b', value: { x: 1 } })).toEqual({
    result: 'Set',
  })
  await device.invoke('devices_PublishEvents', {
    deviceId,
    events: [
      {
        eventId: 'd_ev_20261121-1203-17czX8X1',
        severity: 'Info',
        body: 'hello',
        attributes: {},
        emittedAt: '2026-11-21T12:03:04.123456789Z',
      },
    ],
  })
  const { properties } = await owner.invoke('devices_QueryProperties', { deviceId })
  expect(properties['a.b']).toMatchObject({ value: { x: 1 }, version: 1, protected: false })
  const { events } = await owner.invoke('devices_QueryEvents', { deviceId, limit: 10 })
  expect(events).toMatchObject([{ body: 'hello', severity: 'Info' }])
})

it('ends all connections when it stops, also those that come in that moment', async () => {
  const hub = await testHub()
  const { port, hostname } = new URL(hub.url)
  const sockets = Array.from({ length: 600 }, () => connect(Number(port), hostname).on('error', () => {}))
  await once(sockets[0]!, 'connect')
  await hub[Symbol.asyncDispose]()
  await until('all connections have ended', () => sockets.every(socket => socket.closed))
})

it('S12: prints the first password to a terminal only, and no token', async () => {
  await using hub = await testHub()
  const config = { dataDir: hub.dataDir, allowPlaintextDevices: false, tls: undefined }
  const { password, deploymentToken, file, tokenFile } = hub.firstRun!
  const onTerminal = startupBanner(hub, config, true)
  expect(onTerminal).toContain(password)
  expect(onTerminal).not.toContain(deploymentToken)

  const inLog = startupBanner(hub, config, false)
  expect(inLog).not.toContain(password)
  expect(inLog).not.toContain(deploymentToken)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ password, deploymentToken })
  expect((await stat(tokenFile)).mode & 0o777).toBe(0o600)
  expect(await readFile(tokenFile, 'utf8')).toBe(`${deploymentToken}\n`)
})

it('S39: the first password of a hub that others reach ends after 7 days, which log and dashboard say from the first day', async () => {
  const { log, lines } = capturedLog('warn')
  await using hub = await testHub({ publicUrl: 'http://hub.example' }, log)
  const { email, password } = hub.firstRun!
  const reset = `muster-hub admin reset-password ${email} sets another`
  expect(JSON.stringify(lines)).toContain(
    `the first password of this instance is in use and ends soon: ${reset}`,
  )
  const login = () => ask(hub, '/api/private/login', { body: { email, password } })
  expect((await login()).status).toBe(200)
  const root = await hub.user({ isAdmin: true })
  const found = async () => {
    const { problems } = await root.invoke('instance_GetHealth', {})
    return problems.filter(({ kind }) => kind === 'FirstPassword')
  }
  expect(await found()).toMatchObject([{ kind: 'FirstPassword', level: 'warn', email }])

  const madeAt = new Date(Date.now() - 7 * 24 * 60 * 60 * 1000 - 1_000).toISOString()
  await hub.pool.query(
    `update instance_setting set value = value || jsonb_build_object('madeAt', $1::text) where key = 'first-password'`,
    [madeAt],
  )
  expect((await login()).status).toBe(401)
  expect(await found()).toMatchObject([{ kind: 'FirstPassword', level: 'bad', email }])
  const { rows } = await hub.pool.query('select user_id from "user" where email = $1', [email])
  const next = { userId: rows[0].user_id, password: 'another good password' }
  await root.invoke('users_SetPassword', next)
  expect((await ask(hub, '/api/private/login', { body: { email, password: next.password } })).status).toBe(
    200,
  )
  expect(await found()).toEqual([])
})

it('O21: the printed commands work as they are, and show no token in the list of processes', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "muster it's "))
  await using hub = await testHub({ dataDir: join(folder.path, 'data') })
  const banner = startupBanner(hub, { ...hub, allowPlaintextDevices: false, tls: undefined }, true)
  const { deploymentToken } = hub.firstRun!
  const [run, simulate] = [...banner.matchAll(/^ {2}(npm run agent .*)$/gm)].map(([, command]) => command!)
  const agent = `${process.execPath} ${join(import.meta.dirname, '../../agent/muster-agent.js')}`
  const env = { ...process.env, DATA: join(folder.path, 'agent') }
  const children = [`${run} --data "$DATA"`, simulate!].map(command => {
    expect(command).not.toContain(deploymentToken)
    return spawn('sh', ['-c', `exec ${command.replace('npm run agent --', agent)}`], { stdio: 'ignore', env })
  })
  try {
    await until(
      'this machine and the ten simulated devices are connected',
      () => hub.devices.connectedCount === 11,
    )
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
})

it('O6: checks object storage and mail server, and warns with the name of the setting', async () => {
  await using store = await fakeS3()
  await using mail = await mailServer()
  const { endpoint, bucket, region, accessKeyId, secretAccessKey } = store
  const s3 = {
    endpoint,
    bucket,
    region,
    accessKeyId,
    secretAccessKey,
    prefix: undefined,
    forcePathStyle: true,
  }
  const { log, lines } = capturedLog('warn')
  await using good = await testHub({ s3, smtpUrl: mail.url }, log)
  await good.tryServers()
  expect(lines).toEqual([])
  expect(store.objects.size).toBe(0)

  await mail.stop()
  await using bad = await testHub({ s3: { ...s3, bucket: 'other' }, smtpUrl: mail.url }, log)
  await bad.tryServers()
  expect(lines.toSorted((a, b) => String(a.setting).localeCompare(String(b.setting)))).toMatchObject([
    {
      level: 'warn',
      setting: 'MUSTER_S3_ENDPOINT',
      problem: expect.any(String),
      msg: 'the object storage of the instance cannot be used',
    },
    {
      level: 'warn',
      setting: 'MUSTER_SMTP_URL',
      problem: expect.stringContaining('ECONNREFUSED'),
      msg: 'the mail server cannot be used',
    },
  ])
})
