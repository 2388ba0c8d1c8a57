declare const styles: {
  readonly caps: string
}
export default styles
