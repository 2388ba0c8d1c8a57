declare const styles: {
  readonly diff: string
  readonly side: string
}
export default styles
