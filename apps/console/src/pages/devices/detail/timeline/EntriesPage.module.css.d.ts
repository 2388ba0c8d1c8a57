declare const styles: {
  readonly device: string
  readonly head: string
}
export default styles
