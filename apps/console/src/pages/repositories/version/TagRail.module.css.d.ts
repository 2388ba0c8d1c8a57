declare const styles: {
  readonly followers: string
  readonly since: string
  readonly tags: string
}
export default styles
