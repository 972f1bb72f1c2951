/** The values of all rounds that have one. */
export function valuesOf(result, read) {
    return result.rounds.map(read).filter((value) => value !== undefined);
}
export function figure(name, key) {
    return (round) => round.get(name)?.[key];
}
/** One value to another of the same round, so that what slows down all of a round cancels out. */
export function ratio(over, under) {
    return (round) => {
        const [a, b] = [over(round), under(round)];
        // A share of nothing, or of less than nothing (an added latency below the noise), says nothing.
        return a === undefined || b === undefined || b <= 0 ? undefined : a / b;
    };
}
export function difference(left, right) {
    return (round) => {
        const [a, b] = [left(round), right(round)];
        return a === undefined || b === undefined ? undefined : a - b;
    };
}
