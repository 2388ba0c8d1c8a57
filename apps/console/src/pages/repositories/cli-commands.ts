/** A command of the CLI `muster` with its description. Words in capitals are placeholders for values. */
export type CliCommand = { what: string; command: string }

/** Command that signs the CLI in to this hub. */
export function logInCommand(publicUrl: string): CliCommand {
  return { what: 'Log in, once', command: `muster login --hub ${publicUrl}` }
}

/** Command that creates a package. `repository` is the repository's public name or id. */
export function createPackageCommand(repository: string): CliCommand {
  return { what: 'Create a package', command: `muster packages create ${repository} PACKAGE` }
}

/** Command that creates a version of a package. `repository` is the repository's public name or id. */
export function createVersionCommand(repository: string, packageName = 'PACKAGE'): CliCommand {
  return {
    what: 'Create a version',
    command: `muster versions create ${repository}/${packageName} --tag TAG`,
  }
}

/** Command that uploads files into a version. `version` is a tag or the id of the version. */
export function uploadCommand(repository: string, packageName = 'PACKAGE', version = 'TAG'): CliCommand {
  return {
    what: 'Upload files',
    command: `muster assets upload ${repository}/${packageName}/${version} FILE`,
  }
}

/** Command that moves a tag to a version from the version that has it. `version` is another tag or the id of the new version. */
export function moveTagCommand(
  repository: string,
  packageName: string,
  version: string,
  tag: string,
): CliCommand {
  return {
    what: `Move ${tag}`,
    command: `muster versions tag ${repository}/${packageName}/${version} --tag ${tag},reassign`,
  }
}

/** Command that gives a version a tag that no other version has. `version` is a tag or the id of the version. */
export function newTagCommand(repository: string, packageName: string, version: string): CliCommand {
  return {
    what: 'Give it a tag',
    command: `muster versions tag ${repository}/${packageName}/${version} --tag TAG`,
  }
}

/**
 * Command that adds `imageVersion`, the text by which devices report the version, to its metadata. The command repeats the other metadata,
 * because it replaces all metadata.
 */
export function setImageVersionCommand(
  repository: string,
  packageName: string,
  version: string,
  metadata: Record<string, unknown>,
  imageVersion: string,
): CliCommand {
  const json = JSON.stringify({ ...metadata, imageVersion })
  return {
    what: 'Set imageVersion',
    command: `muster versions set-metadata ${repository}/${packageName}/${version} '${json.replaceAll("'", String.raw`'\''`)}'`,
  }
}
