/**
 * Code in languages that the repository does not use.
 */
export const SNIPPETS: Readonly<Record<string, string>> = {
  Python: `from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Iterable


@dataclass(slots=True)
class Invoice:
    """An invoice with its lines; amounts are integer cents."""

    number: str
    customer_id: int
    lines: list[tuple[str, int]] = field(default_factory=list)

    @property
    def total_cents(self) -> int:
        return sum(amount for _, amount in self.lines)


def group_by_customer(invoices: Iterable[Invoice]) -> dict[int, list[Invoice]]:
    groups: dict[int, list[Invoice]] = {}
    for invoice in invoices:
        groups.setdefault(invoice.customer_id, []).append(invoice)
    return groups


async def fetch_all(session, urls, limit=10):
    semaphore = asyncio.Semaphore(limit)

    async def fetch(url):
        async with semaphore, session.get(url) as response:
            if response.status != 200:
                raise RuntimeError(f"{url} answered {response.status}")
            return await response.json()

    return await asyncio.gather(*(fetch(url) for url in urls))


if __name__ == "__main__":
    print(group_by_customer([Invoice("A-1", 7, [("book", 1999)])]))
`,
  Go: `package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrNotFound is returned when no row has the id.
var ErrNotFound = errors.New("store: not found")

type Customer struct {
	ID    int64  \`json:"id"\`
	Name  string \`json:"name"\`
	Email string \`json:"email,omitempty"\`
}

type Store struct{ db *sql.DB }

func (s *Store) Customer(ctx context.Context, id int64) (*Customer, error) {
	row := s.db.QueryRowContext(ctx, "SELECT id, name, email FROM customers WHERE id = $1", id)
	var c Customer
	if err := row.Scan(&c.ID, &c.Name, &c.Email); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return nil, ErrNotFound
		}
		return nil, fmt.Errorf("read customer %d: %w", id, err)
	}
	return &c, nil
}

func Map[T, U any](items []T, f func(T) U) []U {
	result := make([]U, 0, len(items))
	for _, item := range items {
		result = append(result, f(item))
	}
	return result
}
`,
  Rust: `use std::collections::HashMap;
use std::io::{self, BufRead};

#[derive(Debug, Clone, PartialEq)]
pub enum Token<'a> {
    Number(f64),
    Word(&'a str),
    Open,
    Close,
}

pub fn tokenize(input: &str) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::new();
    for part in input.split_whitespace() {
        let token = match part {
            "(" => Token::Open,
            ")" => Token::Close,
            number if number.parse::<f64>().is_ok() => Token::Number(number.parse().unwrap()),
            word if word.chars().all(char::is_alphanumeric) => Token::Word(word),
            other => return Err(format!("unexpected {other:?}")),
        };
        tokens.push(token);
    }
    Ok(tokens)
}

fn main() -> io::Result<()> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for line in io::stdin().lock().lines() {
        *counts.entry(line?.to_lowercase()).or_default() += 1;
    }
    println!("{counts:#?}");
    Ok(())
}
`,
  Java: `package com.example.orders;

import java.math.BigDecimal;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

public final class OrderService {
    private final OrderRepository repository;

    public OrderService(OrderRepository repository) {
        this.repository = repository;
    }

    /** Returns the most expensive order of a customer, where there is one. */
    public Optional<Order> mostExpensive(long customerId) {
        return repository.findByCustomerId(customerId).stream()
            .filter(order -> !order.isCancelled())
            .max(Comparator.comparing(Order::getTotal));
    }

    public BigDecimal revenue(List<Order> orders) {
        return orders.stream()
            .map(Order::getTotal)
            .reduce(BigDecimal.ZERO, BigDecimal::add);
    }
}
`,
  SQL: `CREATE TABLE IF NOT EXISTS invoices (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  customer_id BIGINT NOT NULL REFERENCES customers (id) ON DELETE CASCADE,
  amount_cents INTEGER NOT NULL CHECK (amount_cents >= 0),
  issued_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

WITH monthly AS (
  SELECT customer_id, date_trunc('month', issued_at) AS month, SUM(amount_cents) AS cents
  FROM invoices
  WHERE issued_at >= now() - INTERVAL '12 months'
  GROUP BY customer_id, month
)
SELECT c.name, m.month, m.cents, RANK() OVER (PARTITION BY m.month ORDER BY m.cents DESC) AS place
FROM monthly AS m
JOIN customers AS c ON c.id = m.customer_id
ORDER BY m.month DESC, place
LIMIT 100;
`,
  HTML: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Invoices</title>
    <link rel="stylesheet" href="/assets/main.css">
  </head>
  <body>
    <main class="container">
      <h1>Invoices</h1>
      <form action="/invoices" method="get" class="filter">
        <label for="from">From</label>
        <input id="from" name="from" type="date" required>
        <button type="submit" class="primary">Show</button>
      </form>
      <table>
        <thead><tr><th scope="col">Number</th><th scope="col">Amount</th></tr></thead>
        <tbody><tr><td><a href="/invoices/A-1">A-1</a></td><td class="num">19.99</td></tr></tbody>
      </table>
    </main>
  </body>
</html>
`,
  shell: `#!/usr/bin/env bash
set -euo pipefail

readonly BACKUP_DIR="\${BACKUP_DIR:-/var/backups/db}"
readonly KEEP_DAYS=14

log() { printf '%s %s\\n' "$(date -u +%FT%TZ)" "$*" >&2; }

main() {
  mkdir -p "$BACKUP_DIR"
  local file="$BACKUP_DIR/$(date +%Y-%m-%d).sql.gz"
  if ! pg_dump --no-owner "$DATABASE_URL" | gzip -9 > "$file.part"; then
    log "the dump failed"
    rm -f "$file.part"
    exit 1
  fi
  mv "$file.part" "$file"
  find "$BACKUP_DIR" -name '*.sql.gz' -mtime "+$KEEP_DAYS" -delete
  log "stored $file ($(du -h "$file" | cut -f1))"
}

main "$@"
`,
};
