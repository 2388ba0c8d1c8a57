declare const styles: {
  readonly toCome: string
}
export default styles
