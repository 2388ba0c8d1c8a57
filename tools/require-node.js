// First import of all programs. Checks the Node version before any code that an older Node cannot parse. `tools/package.ts`
// prepends this text to bundles. The block keeps the variables of this text out of the bundle's scope.
{
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < 24) {
    process.stderr.write(
      `Muster needs Node 24 or newer, found ${process.versions.node} (${process.execPath}). In a checkout npm start, npm run agent and npm run cli bring their own.\n`,
    )
    process.exit(1)
  }
  // Node before 24.5 trusts the system's certificate authorities only with a command-line option, and before 24.3 it warns
  // about type stripping. Both versions matter, because 24.0.0 is the newest Node 24 on npm for macOS.
  const options = ['--use-system-ca', '--disable-warning=ExperimentalWarning']
  if (major === 24 && minor < 5 && !options.every(option => process.execArgv.includes(option)))
    process.execve(
      process.execPath,
      [process.execPath, ...options, ...process.execArgv, ...process.argv.slice(1)],
      // process.execve() of Node 24.0.0 does not pass the environment on by default.
      process.env,
    )
}
