ALTER TABLE `calls` ADD `charge_nano_usd` integer;--> statement-breakpoint
ALTER TABLE `meter_events` ADD `charged_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `meter_events` ADD `charged_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `meter_events_charged` ON `meter_events` (`organization_id`,`at_ms`,`feature`,`usage_plan_version_id`,`charged_usd`,`charged_rest_nano_usd`) WHERE charge_nano_usd IS NOT NULL;--> statement-breakpoint
CREATE INDEX `meter_events_charged_of_customer` ON `meter_events` (`organization_id`,`customer_id`,`at_ms`,`charged_usd`,`charged_rest_nano_usd`) WHERE charge_nano_usd IS NOT NULL;--> statement-breakpoint
ALTER TABLE `customer_running_totals` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `customer_running_totals` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `feature_days` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `feature_days` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `feature_hours` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `feature_hours` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `feature_running_totals` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `feature_running_totals` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `organization_days` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `organization_days` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `organization_hours` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `organization_hours` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_changes` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_changes` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_hours` ADD `charge_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_hours` ADD `charge_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `customers_by_plan_version` ON `customers` (`organization_id`,`usage_plan_version_id`,`created_at_ms`,`canceled_at_ms`);
--> statement-breakpoint
-- What calls charged, of calls that are still kept: only customers with a ledger in USD can have charges.
UPDATE `calls` SET `charge_nano_usd` = CAST(record ->> '$.outcome.charge.amountNanoUsd' AS INTEGER)
WHERE (organization_id, customer_id) IN (SELECT organization_id, customer_id FROM credit_entries WHERE unit = 'USD')
  AND cost_nano_usd > 0 AND record ->> '$.outcome.charge.status' <> 'FAILED' AND record ->> '$.outcome.charge.amountNanoUsd' <> '0';
--> statement-breakpoint
-- The overage of an increment may exceed 64 bits.
UPDATE `meter_events` SET
  `charged_usd` = (settlement_status <> 'FAILED') * CAST(SUBSTR(charge_nano_usd, 1, MAX(LENGTH(charge_nano_usd) - 9, 0)) AS INTEGER)
    + IIF(record ->> '$.reversal.charge.status' <> 'FAILED', CAST(record ->> '$.reversal.charge.amountNanoUsd' AS INTEGER), 0) / 1000000000,
  `charged_rest_nano_usd` = (settlement_status <> 'FAILED') * CAST(SUBSTR(charge_nano_usd, -9) AS INTEGER)
    + IIF(record ->> '$.reversal.charge.status' <> 'FAILED', CAST(record ->> '$.reversal.charge.amountNanoUsd' AS INTEGER), 0) % 1000000000
WHERE charge_nano_usd IS NOT NULL;
--> statement-breakpoint
-- The same in the sums: hours of customers from their calls, and all others from those hours.
UPDATE `usage_hours` SET `charge_usd` = usd, `charge_rest_nano_usd` = rest FROM (
  SELECT organization_id AS org, customer_id AS customer, COALESCE(finished_at_ms, started_at_ms) / 3600000 * 3600000 AS at_ms, COALESCE(feature, '') AS of_feature, usage_provider AS of_provider, COALESCE(model_key, model_used, '') AS of_model, status AS of_status, SUM(charge_nano_usd / 1000000000) AS usd, SUM(charge_nano_usd % 1000000000) AS rest
  FROM calls WHERE (organization_id, customer_id) IN (SELECT organization_id, customer_id FROM credit_entries WHERE unit = 'USD')
    AND charge_nano_usd IS NOT NULL AND reversed_at_ms IS NULL AND status <> 'IN_PROGRESS' GROUP BY 1, 2, 3, 4, 5, 6, 7) charged
WHERE organization_id = org AND customer_id = customer AND hour_ms = at_ms AND feature = of_feature AND provider = of_provider AND model = of_model AND outcome = of_status;
--> statement-breakpoint
UPDATE `organization_hours` SET `charge_usd` = usd, `charge_rest_nano_usd` = rest FROM (
  SELECT organization_id AS org, of_dimension, hour_ms AS at_ms,
    CASE of_dimension WHEN 'feature' THEN feature WHEN 'provider' THEN provider WHEN 'model' THEN model ELSE outcome END AS of_key, SUM(charge_usd) AS usd, SUM(charge_rest_nano_usd) AS rest
  FROM usage_hours CROSS JOIN (SELECT 'feature' AS of_dimension UNION ALL SELECT 'provider' UNION ALL SELECT 'model' UNION ALL SELECT 'outcome')
  WHERE (organization_id, customer_id) IN (SELECT organization_id, customer_id FROM credit_entries WHERE unit = 'USD') AND (charge_usd <> 0 OR charge_rest_nano_usd <> 0) GROUP BY 1, 2, 3, 4) charged
WHERE organization_id = org AND dimension = of_dimension AND hour_ms = at_ms AND key = of_key;
--> statement-breakpoint
UPDATE `feature_hours` SET `charge_usd` = usd, `charge_rest_nano_usd` = rest FROM (
  SELECT organization_id AS org, feature AS of_feature, hour_ms AS at_ms, provider AS of_provider, model AS of_model, outcome AS of_outcome, SUM(charge_usd) AS usd, SUM(charge_rest_nano_usd) AS rest
  FROM usage_hours WHERE (organization_id, customer_id) IN (SELECT organization_id, customer_id FROM credit_entries WHERE unit = 'USD') AND (charge_usd <> 0 OR charge_rest_nano_usd <> 0) GROUP BY 1, 2, 3, 4, 5, 6) charged
WHERE organization_id = org AND feature = of_feature AND hour_ms = at_ms AND provider = of_provider AND model = of_model AND outcome = of_outcome;
--> statement-breakpoint
UPDATE `organization_days` SET `charge_usd` = usd, `charge_rest_nano_usd` = rest FROM (
  SELECT organization_id AS org, of_dimension, hour_ms / 86400000 * 86400000 AS at_ms,
    CASE of_dimension WHEN 'feature' THEN feature WHEN 'provider' THEN provider WHEN 'model' THEN model ELSE outcome END AS of_key, SUM(charge_usd) AS usd, SUM(charge_rest_nano_usd) AS rest
  FROM usage_hours CROSS JOIN (SELECT 'feature' AS of_dimension UNION ALL SELECT 'provider' UNION ALL SELECT 'model' UNION ALL SELECT 'outcome')
  WHERE (organization_id, customer_id) IN (SELECT organization_id, customer_id FROM credit_entries WHERE unit = 'USD') AND (charge_usd <> 0 OR charge_rest_nano_usd <> 0) GROUP BY 1, 2, 3, 4) charged
WHERE organization_id = org AND dimension = of_dimension AND day_ms = at_ms AND key = of_key;
--> statement-breakpoint
UPDATE `feature_days` SET `charge_usd` = usd, `charge_rest_nano_usd` = rest FROM (
  SELECT organization_id AS org, feature AS of_feature, hour_ms / 86400000 * 86400000 AS at_ms, provider AS of_provider, model AS of_model, outcome AS of_outcome, SUM(charge_usd) AS usd, SUM(charge_rest_nano_usd) AS rest
  FROM usage_hours WHERE (organization_id, customer_id) IN (SELECT organization_id, customer_id FROM credit_entries WHERE unit = 'USD') AND (charge_usd <> 0 OR charge_rest_nano_usd <> 0) GROUP BY 1, 2, 3, 4, 5, 6) charged
WHERE organization_id = org AND feature = of_feature AND day_ms = at_ms AND provider = of_provider AND model = of_model AND outcome = of_outcome;
--> statement-breakpoint
UPDATE `customer_running_totals` SET `charge_usd` = usd, `charge_rest_nano_usd` = rest FROM (
  SELECT organization_id AS org, customer_id AS customer, hour_ms AS at_ms, SUM(SUM(charge_usd)) OVER upward AS usd, SUM(SUM(charge_rest_nano_usd)) OVER upward AS rest
  FROM usage_hours WHERE (organization_id, customer_id) IN (SELECT organization_id, customer_id FROM credit_entries WHERE unit = 'USD') GROUP BY 1, 2, 3
  WINDOW upward AS (PARTITION BY organization_id, customer_id ORDER BY hour_ms)) charged
WHERE organization_id = org AND customer_id = customer AND hour_ms = at_ms AND (usd <> 0 OR rest <> 0);
--> statement-breakpoint
UPDATE `feature_running_totals` SET `charge_usd` = usd, `charge_rest_nano_usd` = rest FROM (
  SELECT organization_id AS org, customer_id AS customer, feature AS of_feature, hour_ms AS at_ms, SUM(SUM(charge_usd)) OVER upward AS usd, SUM(SUM(charge_rest_nano_usd)) OVER upward AS rest
  FROM usage_hours WHERE (organization_id, customer_id) IN (SELECT organization_id, customer_id FROM credit_entries WHERE unit = 'USD') GROUP BY 1, 2, 3, 4
  WINDOW upward AS (PARTITION BY organization_id, customer_id, feature ORDER BY hour_ms)) charged
WHERE organization_id = org AND customer_id = customer AND feature = of_feature AND hour_ms = at_ms AND (usd <> 0 OR rest <> 0);
